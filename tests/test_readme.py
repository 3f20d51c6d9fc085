import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_readmes_code_runs_as_it_stands(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    imports = "from catspace import EmbeddingRegressor\n"
    exec(compile(imports + block, "README.md", "exec"), {})


def test_the_readmes_links_lead_somewhere():
    root = Path(__file__).parents[1]
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (root / link).exists(), link
