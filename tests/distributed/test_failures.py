"""What goes wrong on a cluster: said, or tried again."""

import pytest
import ray.exceptions
import ray.train
from ray.train.v2.api.exceptions import ControllerError, WorkerGroupError

from catspace.distributed.failures import Attempts, plain_errors
from catspace.exceptions import CatspaceError, InputError

LOST = ray.exceptions.NodeDiedError("gone")


class WorkerGroupStartupTimeoutError(Exception):
    """Called as Ray's own."""


def work_that_fails(*errors):
    """Return work that raises these in turn, and then returns how often it was begun."""
    waiting = list(errors)

    def work():
        if waiting:
            raise waiting.pop(0)
        return 1 + len(errors)

    return work


def test_what_the_cluster_lost_is_begun_again_when_the_nodes_have_been_asked():
    asked = []
    attempts = Attempts(3, lambda: asked.append("nodes"))
    broken = WorkerGroupError("lost", {1: RuntimeError("Connection closed by peer")})
    assert attempts.run(work_that_fails(LOST, broken)) == 3
    assert asked == ["nodes"] * 2


def test_it_is_begun_again_so_often_in_all():
    attempts = Attempts(2, lambda: None)
    assert attempts.run(work_that_fails(LOST)) == 2
    with pytest.raises(ray.exceptions.NodeDiedError):
        attempts.run(work_that_fails(LOST, LOST))
    assert Attempts(-1, lambda: None).run(work_that_fails(*[LOST] * 9)) == 10


def test_waiting_for_cpus_that_others_use_is_no_failure():
    waiting = ControllerError(WorkerGroupStartupTimeoutError())
    assert Attempts(1, lambda: None).run(work_that_fails(waiting, waiting, LOST)) == 4


@pytest.mark.parametrize(
    "error",
    [
        WorkerGroupError("a worker", {0: CatspaceError("Training diverged.")}),
        ray.exceptions.RayTaskError("f", "traceback", ValueError("a bug of the user's")),
    ],
)
def test_what_cannot_be_done_is_not_tried_again(error):
    with pytest.raises(type(error)):
        Attempts(3, lambda: None).run(work_that_fails(error))


def test_a_cluster_that_cannot_do_the_work_any_more_says_so():
    def check():
        raise CatspaceError("2 CPUs are left.")

    with pytest.raises(CatspaceError, match="2 CPUs are left"):
        Attempts(3, check).run(work_that_fails(LOST))


def test_a_disk_that_is_full_in_training_is_not_taken_for_the_table():
    full = OSError(28, "No space left on device")
    failed, unread = r"work on the cluster failed: .*No space", r"table cannot be read: .*No space"
    with pytest.raises(CatspaceError, match=failed), plain_errors():
        raise WorkerGroupError("a worker", {0: full})
    with pytest.raises(InputError, match=unread), plain_errors():
        raise ray.exceptions.RayTaskError("f", "traceback", full)
