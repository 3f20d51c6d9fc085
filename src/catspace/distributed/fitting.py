"""Fitting an estimator on a cluster: Ray Data reads and encodes, Ray Train trains."""

import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from catspace.data.labels import Labels
from catspace.distributed.board import open_board
from catspace.distributed.cluster import connect, ordered_data
from catspace.distributed.failures import Attempts, plain_errors
from catspace.distributed.nodes import Needs, alive_nodes
from catspace.distributed.reservations import reservations_given_back
from catspace.distributed.rows import SharedRows
from catspace.distributed.storage import Storage, name_run
from catspace.distributed.tables import ClusterTable, open_dataset, paths_of
from catspace.distributed.training import ClusterTraining
from catspace.estimators.base import EmbeddingEstimator
from catspace.estimators.fitting import OnEpoch, finish
from catspace.exceptions import InputError, ParameterError
from catspace.preparation.encoding import RowEncoding
from catspace.preparation.learning import Weigher, survey
from catspace.preparation.prepare import count_held_back
from catspace.validation import check_int, check_option, is_integer

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
    on_epoch: OnEpoch | None = None,
) -> _Estimator:
    """Fit an estimator on a Ray cluster.

    Ray Data reads the table, block by block on all nodes; vocabularies and scales of the blocks
    are merged. The encoded rows lie in the cluster's memory (Ray moves them to disk where that is
    full) until the workers have copied theirs. Then Ray Train's workers train. To go on learning
    later takes no cluster: ``estimator.partial_fit`` reads the new rows alone.

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
        Where workers keep their states: a folder that all nodes share, or a URI. A fit that did
        not come to its end goes on from its last epoch when it is called again with the same
        storage_path, table and parameters; one that did leaves nothing there. The default is a
        temporary folder of this machine, for clusters that are one machine.
    max_failures : int, default=3
        How often work is begun again that was lost with a worker or a node; -1 for no limit. Each
        time the training goes on from its last epoch.
    on_epoch : callable, optional
        As in ``estimator.fit``, but that it cannot stop a network: workers go on while it is
        called, and what it returns is not looked at. It hears of an epoch when the states of all
        workers are kept, so of none twice, whatever is lost.

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
    if parallel == "rows" and isinstance(estimator.get_params().get("pairs"), (list, tuple)):
        raise ParameterError(
            'parallel="rows" gives each worker rows of its own, and what pairs tell is learned '
            "from all of them.",
            hint='set pairs to "auto" or None, or parallel to "networks".',
        )
    if estimator.get_params().get("cv") is not None:
        raise ParameterError(
            "cv needs the whole table in memory, and a cluster has it in several places.",
            hint="set cv to None.",
        )
    if not is_integer(max_failures) or max_failures < -1:
        raise ParameterError(
            f"max_failures must be an int from 0, or -1 for no limit; got {max_failures!r}."
        )
    connect()
    with plain_errors(), ordered_data(is_quiet=estimator.verbose < 2), ExitStack() as stack:
        stack.enter_context(reservations_given_back())
        table = ClusterTable.open(dataset, Labels(y, sample_weight))
        judging = None if X_val is None else open_dataset(X_val)
        storage = Storage.open(_temporary(stack) if storage_path is None else storage_path)
        files = [*paths_of(table.files), *paths_of(judging)]
        needs, nodes = Needs(num_workers, use_gpu, files, storage), alive_nodes()
        needs.check()
        how = _how_to_go_on(None if storage_path is None else storage)
        attempts = Attempts(max_failures, lambda: needs.check(since=nodes, hint=how))
        preparation = job.preparation(stack)
        parameters = preparation.parameters
        found = attempts.run(lambda: survey(table, preparation.target_kind, parameters))
        learned, encoding = found.learned, RowEncoding(found.learned, found.weigher)
        make = [lambda: table.encode(encoding)]
        if judging is not None:
            labels = Labels(y, sample_weight_val, schema=learned.schema)
            weigher = None if sample_weight_val is None else Weigher()
            judges = ClusterTable.open(judging, labels)
            make.append(lambda: judges.encode(RowEncoding(learned, weigher)))
        n_parts = num_workers if parallel == "rows" else 1
        rows = SharedRows(make, n_parts)
        n_rows = [[share.n_rows for share in shares] for shares in attempts.run(rows.shares)]
        n_held_back = [0] * n_parts
        if judging is None and estimator.early_stopping:
            n_held_back = [count_held_back(parameters, n) for n in n_rows[0]]
        plan = job.plan(learned, found.numbers, sum(n_rows[0]) - sum(n_held_back))
        training = ClusterTraining(plan, n_held_back, parallel == "networks", num_workers, use_gpu)
        is_seeded = is_integer(estimator.random_state)
        name = name_run(learned, plan, parallel, n_rows, n_held_back, is_seeded=is_seeded)
        listen, tell = stack.enter_context(job.progress(plan, on_epoch))
        board = stack.enter_context(open_board(name, listen, tell))
        results = attempts.run(lambda: training.run(rows, board, storage))
        storage.remove(board.name)
    plan = replace(plan, recipe=results.recipe)
    estimator.fitted_ = finish(results.trained, results.counts, learned, plan, results.judged)
    return estimator


def _temporary(stack: ExitStack) -> str:
    """Return a folder of this machine, which is removed in the end."""
    return stack.enter_context(
        tempfile.TemporaryDirectory(prefix="catspace-", ignore_cleanup_errors=True)
    )


def _how_to_go_on(storage: Storage | None) -> str:
    if storage is None:
        return "with a storage_path, fit goes on from its last epoch when it is called again."
    return (
        f"call fit again with storage_path={storage.path!r} when there are enough: it goes on from "
        "its last epoch."
    )
