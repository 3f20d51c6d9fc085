import os
import tempfile

import pytest

pytest.importorskip("ray")


@pytest.fixture(scope="session")
def cluster():
    """Ray on this machine, with two CPUs."""
    import ray

    # Ray Train looks at its workers every two seconds otherwise, and epochs here are short.
    os.environ["RAY_TRAIN_HEALTH_CHECK_INTERVAL_S"] = "0.1"
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path, monkeypatch):
    """Fail where one of catspace's temporary files stays."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.glob("catspace-*")) == []
