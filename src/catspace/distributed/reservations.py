"""CPUs that Ray Train has reserved for workers that there will never be."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import ray
from ray.util.placement_group import (
    PlacementGroup,
    placement_group_table,
    remove_placement_group,
)

_LOOK_SECONDS = 1.0


@contextmanager
def reservations_given_back() -> Iterator[None]:
    """While this lasts, give back what trainings have reserved that are over.

    Ray Train reserves CPUs before it starts workers on them. Where a node is lost in between, its
    controller ends and leaves them reserved, and Ray gives them back when the whole program ends.
    Until then, what waits for a CPU waits for ever: the next attempt, and the next fit.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            # A cluster that does not answer now may do so next time; nothing else depends on it.
            with suppress(Exception):
                give_back()

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(watch)
        try:
            yield
        finally:
            is_over.set()


def give_back() -> None:
    """Give back what actors of this program have reserved that are gone."""
    job = ray.get_runtime_context().get_job_id()
    for group in _placement_groups():
        is_ours = group.creator_job_id.hex() == job and not group.is_detached
        # What the program has reserved itself has no actor, and Ray calls that one dead.
        is_actor_gone = (
            group.creator_actor_dead and not ray.ActorID(group.creator_actor_id).is_nil()
        )
        is_there = group.state != group.REMOVED
        if is_ours and is_actor_gone and is_there:
            remove_placement_group(PlacementGroup(ray.PlacementGroupID(group.placement_group_id)))


def _placement_groups() -> list[Any]:
    """Return all that Ray knows of placement groups; what it shows leaves their actors out."""
    # Names of Ray that may change: looked for here, where it does no harm that they are gone.
    from ray._private.state import state
    from ray.core.generated.gcs_pb2 import PlacementGroupTableData  # type: ignore[attr-defined]

    placement_group_table()  # connects, and fails where there is no cluster
    for name in ("_global_state_accessor", "global_state_accessor"):  # as Ray's version calls it
        if (accessor := getattr(state, name, None)) is not None:
            table = accessor.get_placement_group_table()
            return [PlacementGroupTableData.FromString(group) for group in table]
    return []
