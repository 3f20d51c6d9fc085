"""The nodes of a cluster: what each must have and see before work is sent to it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import ray.exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from catspace.distributed.failures import first_line
from catspace.distributed.storage import Storage
from catspace.exceptions import CatspaceError, InputError, ParameterError

# To start a worker and import torch takes a minute where a node has much else to do.
_PROBE_SECONDS = 300


def alive_nodes() -> frozenset[str]:
    """Return the ids of the nodes that Ray believes to be there."""
    return frozenset(node["NodeID"] for node in _nodes())


def this_node() -> str:
    """Return the id of the node that this process belongs to."""
    return str(ray.get_runtime_context().get_node_id())


@dataclass(frozen=True)
class Needs:
    """What work asks of a cluster."""

    num_workers: int
    use_gpu: bool
    files: Sequence[Path] = ()  # of the table
    storage: Storage | None = None  # where workers keep their states

    def check(self, since: frozenset[str] = frozenset(), *, hint: str | None = None) -> None:
        """Raise where a cluster has no room for the workers, or lacks what they need.

        Ray itself would wait for ever for CPUs that do not exist.

        Parameters
        ----------
        since : set of str
            The ids of the nodes that the work began with.
        hint : str, optional
            What to do where so many of them were lost that there is no room any more.
        """
        # First: afterwards Ray knows which of them are gone.
        if self.storage is None:
            self._ask_nodes(None)
        else:
            with self.storage.marked() as marker:
                self._ask_nodes(marker)
        kind = "GPU" if self.use_gpu else "CPU"
        n_there = int(sum(node["Resources"].get(kind, 0) for node in _nodes()))
        if self.num_workers <= n_there:
            return
        need = f"num_workers={self.num_workers} needs as many {kind}s"
        n_lost = len(since - alive_nodes())
        if n_lost:
            nodes = "a node" if n_lost == 1 else f"{n_lost} nodes"
            raise CatspaceError(
                f"The cluster has lost {nodes}: {need}, and {n_there} "
                f"{'is' if n_there == 1 else 'are'} left.",
                hint=hint,
            )
        raise CatspaceError(
            f"{need}, and the cluster has {n_there}.",
            hint=f"lower num_workers to {n_there}." if n_there else None,
        )

    def _ask_nodes(self, marker: Path | None) -> None:
        """Ask every node that may get work whether it can do it, all at the same time."""
        files = self.files if marker is None else [*self.files, marker]
        here, look = this_node(), _make_probe(files)
        asked = [node for node in _nodes() if node["Resources"].get("CPU") or _id(node) == here]
        answers = []
        for node in asked:
            strategy = NodeAffinitySchedulingStrategy(_id(node), soft=False)
            probe = ray.remote(look).options(num_cpus=0, scheduling_strategy=strategy)
            answers.append(probe.remote())
        for node, answer in zip(asked, answers, strict=True):
            try:
                trouble, unseen = ray.get(answer, timeout=_PROBE_SECONDS)
            except ray.exceptions.RayError as error:
                if _id(node) not in alive_nodes():
                    continue  # it was lost, which others count
                if isinstance(error, ray.exceptions.GetTimeoutError):
                    raise CatspaceError(
                        f"The Ray worker on {_name(node)} has not answered for {_PROBE_SECONDS} "
                        "seconds.",
                        hint="see what else that node is doing, and call again.",
                    ) from None
                trouble, unseen = f"does not answer ({first_line(error)})", None
            if trouble:
                raise CatspaceError(
                    f"The Ray worker on {_name(node)} {trouble}.",
                    hint='every node needs the same catspace: pip install "catspace[ray]"',
                )
            if unseen is not None:
                raise _not_shared(unseen, marker, _name(node))


def _not_shared(path: str, marker: Path | None, name: str) -> CatspaceError:
    if marker is not None and path == str(marker):
        return ParameterError(
            f"Checkpoints go to {str(marker.parent)!r}, and {name} does not see that folder.",
            hint="storage_path must be a folder that all nodes share, or a URI.",
        )
    return InputError(
        f"{path!r} is a file that not all nodes can see: on {name} it is not there, or another.",
        hint="put the table into a folder that all nodes share, or give its URI.",
    )


def _make_probe(paths: Sequence[Path]) -> Callable[[], tuple[str, str | None]]:
    # What is not here either is for those to tell who read it.
    files = {str(path): path.stat().st_size for path in paths if path.exists()}

    # A function inside of another travels as it is: the node may have no catspace to find it in.
    def look() -> tuple[str, str | None]:
        import os

        for module in ("torch", "catspace.model.training"):
            try:
                __import__(module)
            except Exception as error:
                return f"cannot import {module.split('.')[0]} ({error})", None
        for path, size in files.items():
            try:
                is_same = os.stat(path).st_size == size  # noqa: PTH116
            except OSError:
                is_same = False
            if not is_same:
                return "", path
        return "", None

    return look


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _id(node: Mapping[str, Any]) -> str:
    return str(node["NodeID"])


def _name(node: Mapping[str, Any]) -> str:
    """Return what people call a node; several may be on one machine."""
    host = node.get("NodeManagerHostname")
    return f"{host!r} (node {_id(node)[:8]})" if host else f"node {_id(node)[:8]}"
