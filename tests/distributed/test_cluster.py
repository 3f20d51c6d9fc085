"""Clusters that cannot be used, each seen by a process of its own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.cluster


def run(code, *arguments):
    command = [sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def test_without_ray_the_error_says_how_to_install_it():
    said = run("import sys; sys.modules['ray'] = None; import catspace.distributed")
    assert 'pip install "catspace[ray]"' in said.splitlines()[-1]


def test_a_cluster_that_cannot_be_reached():
    said = run(
        "from catspace.distributed.cluster import connect; connect('127.0.0.1:1')",
    )
    assert "No Ray cluster can be reached at '127.0.0.1:1'" in said


def test_a_worker_without_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')")
    said = run(
        """
import sys, ray
import catspace.distributed
from catspace.distributed.nodes import Needs
ray.init(
    "local",
    num_cpus=1,
    include_dashboard=False,
    log_to_driver=False,
    runtime_env={"env_vars": {"PYTHONPATH": sys.argv[1]}},
)
Needs(num_workers=1, use_gpu=False).check()
""",
        tmp_path,
    )
    assert "cannot import torch (there is no torch here)" in said
    assert "every node needs the same catspace" in said
