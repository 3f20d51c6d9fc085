"""Fitting an estimator on a cluster: Ray Data reads and encodes, Ray Train trains."""

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from catspace.data.labels import Labels
from catspace.distributed.board import open_board
from catspace.distributed.cluster import check_workers, connect, ordered_data, plain_errors
from catspace.distributed.tables import ClusterTable
from catspace.distributed.worker import Assignment, read_results, work
from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.fitting import finish
from catspace.exceptions import InputError, ParameterError
from catspace.preparation.encoding import RowEncoding
from catspace.preparation.learning import Weigher, survey
from catspace.preparation.prepare import count_held_back
from catspace.validation import check_int, check_option

_Estimator = TypeVar("_Estimator", bound=EmbeddingEstimator)

PARALLEL = ("rows", "networks")


def fit(
    estimator: _Estimator,
    dataset: Any,
    y: str,
    *,
    sample_weight: str | None = None,
    X_val: Any = None,
    sample_weight_val: str | None = None,
    num_workers: int = 2,
    parallel: str = "rows",
    use_gpu: bool = False,
    storage_path: str | Path | None = None,
    max_failures: int = 3,
    on_epoch: Callable[[Mapping[str, Any]], None] | None = None,
) -> _Estimator:
    """Fit an estimator on a Ray cluster.

    Ray Data reads the table, block by block on all nodes; vocabularies and scales of the blocks
    are merged. The encoded rows lie in the cluster's memory (Ray moves them to disk where that is
    full) until the workers have copied theirs. Then Ray Train's workers train.

    Parameters
    ----------
    estimator : EmbeddingRegressor, EmbeddingClassifier or EmbeddingEncoder
        Is fitted, and returned.
    dataset : ray.data.Dataset, str or Path
        Or the path of Parquet or CSV files, a folder or a pattern, which every node must see at
        the same place; or a URI that Ray reads (``"s3://…"``).
    y : str
        The name of the target's column.
    sample_weight : str, optional
        The name of the column of weights.
    X_val : the same as ``dataset``, optional
        Rows to judge each epoch by, target included.
    sample_weight_val : str, optional
        The name of the column of ``X_val`` that holds their weights.
    num_workers : int, default=2
        Each needs a CPU, or a GPU with ``use_gpu``.
    parallel : {"rows", "networks"}, default="rows"
        "rows": all workers train each network together, each on its part of the rows (torch's
        DistributedDataParallel). A batch is ``batch_size`` rows in all. "networks": each worker
        trains some of the ``n_networks`` networks on all rows, which gives the very networks
        that ``estimator.fit`` gives for the same files.
    use_gpu : bool, default=False
    storage_path : str or Path, optional
        Where Ray keeps checkpoints: a folder that all nodes share, or a URI. The default is a
        temporary folder of this machine, which is removed afterwards; it will do where all
        workers are on this machine.
    max_failures : int, default=3
        How often lost workers are replaced. Each time all of them go on from the last epoch.
    on_epoch : callable, optional
        As in ``estimator.fit``.

    Returns
    -------
    estimator

    Examples
    --------
    >>> import ray, catspace.distributed  # doctest: +SKIP
    >>> ray.init()  # doctest: +SKIP
    >>> model = catspace.EmbeddingRegressor(n_networks=4)  # doctest: +SKIP
    >>> catspace.distributed.fit(model, "sales/*.parquet", "Sales")  # doctest: +SKIP
    """
    num_workers = check_int("num_workers", num_workers)
    check_option("parallel", parallel, PARALLEL)
    if not isinstance(y, str):
        raise InputError(f"y must be the name of a column of the table; got {type(y).__name__}.")
    job = estimator.start_fit()
    if parallel == "networks" and num_workers > check_int("n_networks", estimator.n_networks):
        raise ParameterError(
            f'parallel="networks" gives each worker networks of its own; there are '
            f"{num_workers} workers and n_networks={estimator.n_networks}.",
            hint="raise n_networks, or lower num_workers.",
        )
    connect()
    with plain_errors(), ordered_data(is_quiet=estimator.verbose < 2), ExitStack() as stack:
        check_workers(num_workers, use_gpu=use_gpu)
        preparation = job.preparation(stack)
        table = ClusterTable.open(dataset, Labels(y, sample_weight))
        found = survey(table, preparation.target_kind, preparation.parameters)
        learned, encoding = found.learned, RowEncoding(found.learned, found.weigher)
        n_parts = num_workers if parallel == "rows" else 1
        shares = table.encode(encoding).share(n_parts)
        validation, n_held_back = None, [0] * n_parts
        if X_val is not None:
            labels = Labels(y, sample_weight_val, schema=learned.schema)
            weigher = None if sample_weight_val is None else Weigher()
            judges = ClusterTable.open(X_val, labels)
            validation = judges.encode(RowEncoding(learned, weigher)).share(n_parts)
        elif estimator.early_stopping:
            parameters = preparation.parameters
            n_held_back = [count_held_back(parameters, share.n_rows) for share in shares]
        n_used = sum(share.n_rows for share in shares) - sum(n_held_back)
        plan = job.plan(learned, found.numbers, n_used)
        if storage_path is None:
            storage_path = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="catspace-", ignore_cleanup_errors=True)
            )
        listen, tell = stack.enter_context(job.progress(plan, on_epoch))
        board = stack.enter_context(open_board(listen, tell))
        assignment = Assignment(
            plan,
            shares,
            validation,
            n_held_back,
            is_by_network=parallel == "networks",
            board=board,
        )
        trainer = TorchTrainer(
            work,
            train_loop_config={"assignment": assignment},
            torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if use_gpu else "gloo"),
            scaling_config=ScalingConfig(num_workers=num_workers, use_gpu=use_gpu),
            run_config=RunConfig(
                storage_path=str(storage_path),
                failure_config=FailureConfig(max_failures=max_failures),
                checkpoint_config=CheckpointConfig(num_to_keep=1),
            ),
        )
        checkpoint = trainer.fit().checkpoint
        assert checkpoint is not None  # the workers have reported at least once
        with checkpoint.as_directory() as folder:
            results = read_results(Path(folder), plan)
    plan = replace(plan, recipe=results.recipe)
    estimator.fitted_ = finish(results.trained, results.counts, learned, plan, results.judged)
    return estimator
