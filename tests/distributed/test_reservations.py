"""CPUs that are reserved by actors that are gone."""

import threading

import pytest
import ray
from ray.util import placement_group_table
from ray.util.placement_group import placement_group, remove_placement_group

from catspace.distributed.reservations import reservations_given_back

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster")]


def start_controller():
    """Return an actor that can reserve a CPU, as Ray Train's does for its workers."""

    @ray.remote(num_cpus=0)
    class Controller:
        def reserve(self):
            group = placement_group([{"CPU": 1}])
            ray.get(group.ready())
            return group

    return Controller.remote()


def state_of(group):
    return placement_group_table(group)["state"]


def wait_until_gone(group):
    for _ in range(600):
        if state_of(group) == "REMOVED":
            return True
        threading.Event().wait(0.1)
    return False


def test_what_is_reserved_by_an_actor_that_is_gone_is_given_back_and_nothing_else():
    gone, alive = start_controller(), start_controller()
    left, used = ray.get([gone.reserve.remote(), alive.reserve.remote()])
    own = placement_group([{"CPU": 0.0, "memory": 1}])  # of the program itself
    ray.get(own.ready())
    ray.kill(gone)
    with reservations_given_back():
        assert wait_until_gone(left)
    assert state_of(used) == state_of(own) == "CREATED"
    for group in (used, own):
        remove_placement_group(group)
    ray.kill(alive)
