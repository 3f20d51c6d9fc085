import pandas as pd
import pytest
from typer.testing import CliRunner

import catspace
from catspace.commands.cli import app
from catspace.exceptions import CatspaceError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*look like identifiers"),
]


@pytest.fixture
def csv(tmp_path):
    sales = catspace.make_sales(1_000, n_stores=10, backend="pandas")
    frame = sales.X.astype(str).assign(Sales=sales.y, Customers=1)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_fit_on_a_cluster_writes_a_model_file(csv, tmp_path):
    out = tmp_path / "sales.catspace"
    done = run(
        "fit", csv, "--target", "Sales", "--drop", "Customers", "--log", "--ray", "local",
        "--workers", 2, "--networks", 2, "--storage", tmp_path / "states", "-o", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert list((tmp_path / "states").iterdir()) == []  # nothing is left to go on from
    assert "Trained by 2 workers" in done.output
    model = catspace.load(out)
    assert len(model.networks_) == 2
    assert "Customers" not in model.feature_names_in_
    assert (
        model.predict(pd.read_csv(csv, dtype={"state": str})[model.feature_names_in_]) > 0
    ).all()


def test_what_the_command_cannot_do_on_a_cluster_is_said(csv, tmp_path):
    report = run(
        "fit", csv, "--target", "Sales", "--ray", "local", "-o", tmp_path / "m",
        "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert isinstance(report.exception, CatspaceError)
    assert "--report needs the rows here" in str(report.exception)
    alone = run("fit", csv, "--target", "Sales", "--storage", tmp_path, "-o", tmp_path / "m")
    assert "--storage is for fits on a cluster" in str(alone.exception)
    lost = run("fit", csv, "--target", "Sale", "--ray", "local", "-o", tmp_path / "m")
    assert "Did you mean 'Sales'" in str(lost.exception)
