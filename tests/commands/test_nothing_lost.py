"""What a command has worked for stays, and what it reads is not written over."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace.exceptions import CatspaceError, InputError, ModelFileError, ParameterError
from tests.commands.test_commands import run


@pytest.fixture
def sales(tmp_path):
    """Write a small table of numbers by town, and return its path."""
    frame = pd.DataFrame({"town": list("abcd") * 15, "size": np.arange(60.0) % 7})
    frame.assign(y=frame["size"] + 0.5).to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


def write_classes(tmp_path, classes):
    frame = pd.DataFrame({"town": np.resize(list("abcd"), len(classes)), "kind": classes})
    frame.to_csv(tmp_path / "classes.csv", index=False)
    return tmp_path / "classes.csv"


def held_back_row(n_rows, seed=0, validation=0.1):
    return int(np.random.default_rng(seed).permutation(n_rows)[: round(validation * n_rows)][0])


def test_a_class_that_only_held_back_rows_have_costs_no_model(tmp_path):
    classes = np.array(["x", "y"] * 30, dtype=object)
    classes[held_back_row(60)] = "alone"
    out = tmp_path / "m.catspace"
    output = run(
        "fit", write_classes(tmp_path, classes), "--target", "kind", "-o", out
    ).output  # fmt: skip
    assert "Only rows that were held back have the target ['alone']" in output
    assert "majority" in output
    assert catspace.load(out).classes_.tolist() == ["x", "y"]


def test_a_single_class_has_scores_too(tmp_path):
    out = tmp_path / "m.catspace"
    table = write_classes(tmp_path, ["same"] * 60)
    done = run("fit", table, "--target", "kind", "--json", "-o", out)
    scores = json.loads(done.stdout)["scores"]
    assert scores["catspace"] == {"accuracy": 1.0, "log loss": 0.0}
    assert catspace.load(out).classes_.tolist() == ["same"]


def test_boosting_is_not_waited_for_where_there_are_very_many_classes(tmp_path):
    out = tmp_path / "m.catspace"
    table = write_classes(tmp_path, [f"class {i % 60}" for i in range(240)])
    done = run("fit", table, "--target", "kind", "--set", "smooth=0", "--json", "-o", out)
    result = json.loads(done.stdout)
    assert set(result["scores"]) == {"catspace", "majority"}
    assert "There is no score of gradient boosting: with 60 classes" in result["notes"][-1]


def test_a_baseline_that_fails_is_a_sentence_beside_a_saved_model(sales, tmp_path, monkeypatch):
    def fail(*arguments):
        raise ValueError("The least populated class has only 1 member.\nmore")

    from sklearn.ensemble import HistGradientBoostingRegressor

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", fail)
    out = tmp_path / "m.catspace"
    done = run("fit", sales, "--target", "y", "--task", "regression", "--json", "-o", out)
    result = json.loads(done.stdout)
    assert set(result["scores"]) == {"catspace", "mean"}
    assert result["notes"] == [
        "There is no score of gradient boosting: The least populated class has only 1 member."
    ]
    assert catspace.load(out).predict(sales).shape == (60,)


def test_rows_that_cannot_be_scored_are_a_sentence_beside_a_saved_model(
    sales, tmp_path, monkeypatch
):
    def fail(*arguments):
        raise InputError("Column 'size' holds infinity.", hint="replace it.")

    out = tmp_path / "m.catspace"
    with monkeypatch.context() as patched:
        patched.setattr(catspace.EmbeddingRegressor, "encode", fail)
        done = run("fit", sales, "--target", "y", "--task", "regression", "-o", out)
    assert "There are no scores: Column 'size' holds infinity." in done.output
    assert catspace.load(out).predict(sales).shape == (60,)


def test_the_model_is_there_before_it_is_scored(sales, tmp_path, monkeypatch):
    def interrupted(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr("catspace.commands.fit.compare", interrupted)
    out = tmp_path / "m.catspace"
    done = run("fit", sales, "--target", "y", "--task", "regression", "-o", out, code=130)
    assert "The model is in" in done.output
    assert catspace.load(out).predict(sales).shape == (60,)


def test_scores_of_classes_are_those_of_scikit_learn():
    from sklearn.metrics import accuracy_score, log_loss

    from catspace.analysis.scoring import score_classes

    rng = np.random.default_rng(0)
    classes, shares = np.array(["a", "b", "c"]), rng.dirichlet(np.ones(3), 50)
    true = classes[rng.integers(3, size=50)]
    found = score_classes(true, shares, classes)
    assert found["accuracy"] == accuracy_score(true, classes[shares.argmax(axis=1)])
    assert found["log loss"] == pytest.approx(log_loss(true, shares, labels=classes))


@pytest.mark.parametrize("way", ["itself", "relative", "symlink", "hard link"])
def test_a_fit_does_not_write_over_its_table(sales, tmp_path, monkeypatch, way):
    before = sales.read_bytes()
    monkeypatch.chdir(tmp_path)
    out = {"itself": sales, "relative": "../" + tmp_path.name + "/sales.csv"}.get(way, "other")
    if way == "symlink":
        (tmp_path / "other").symlink_to(sales)
    if way == "hard link":
        (tmp_path / "other").hardlink_to(sales)
    with pytest.raises(CatspaceError, match=r"is what this command reads, and it would be written"):
        run("fit", sales, "--target", "y", "-o", out)
    assert sales.read_bytes() == before


def test_no_command_writes_over_what_it_reads(sales, tmp_path):
    model = tmp_path / "m.catspace"
    run("fit", sales, "--target", "y", "--task", "regression", "-o", model)
    kept = model.read_bytes(), sales.read_bytes()
    for command in (
        ["predict", model, sales, "-o", model],
        ["predict", model, sales, "-o", sales],
        ["predict", model, tmp_path / "*.csv", "-o", sales],
        ["transform", model, sales, "-o", model],
        ["embeddings", model, "town", "-o", model],
        ["report", model, "-o", model],
        ["report", model, "--data", sales, "-o", sales],
        ["export", model, "--onnx", model],
    ):
        with pytest.raises(CatspaceError, match=r"is what this command reads"):
            run(*command)
    with pytest.raises(CatspaceError, match=r"is named as the place of two results"):
        run("fit", sales, "--target", "y", "-o", tmp_path / "new", "--report", tmp_path / "new")
    assert (model.read_bytes(), sales.read_bytes()) == kept


@pytest.mark.parametrize(
    ("name", "reason"), [("", "Is a directory"), ("x" * 300, "File name too long")]
)
def test_a_place_that_takes_no_file_is_refused_before_training(sales, tmp_path, name, reason):
    for option in ("-o", "--report"):
        places = {"-o": tmp_path / "m", "--report": tmp_path / "p", option: tmp_path / name}
        with pytest.raises(CatspaceError, match=rf"' cannot be written: {reason}\.$"):
            run(
                "fit", sales, "--target", "no column", *(x for pair in places.items() for x in pair)
            )
    assert [path.name for path in tmp_path.iterdir()] == ["sales.csv"]


def test_a_model_that_cannot_be_saved_in_the_end_is_saved_elsewhere(sales, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    save = catspace.EmbeddingRegressor.save

    def full(self, path):
        if path.name == "m.catspace":
            raise ModelFileError("'m.catspace' cannot be written: No space left on device.")
        save(self, path)

    monkeypatch.setattr(catspace.EmbeddingRegressor, "save", full)
    with pytest.raises(CatspaceError, match=r"No space left on device.\nHint: the model is in '"):
        run("fit", sales, "--target", "y", "--task", "regression", "-o", tmp_path / "m.catspace")
    (rescued,) = (tmp_path / "elsewhere").iterdir()
    assert catspace.load(rescued).predict(sales).shape == (60,)


def test_a_report_that_cannot_be_drawn_is_refused_before_training(sales, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    arguments = ["--target", "y", "-o", tmp_path / "m.catspace", "--report", tmp_path / "p.html"]
    with pytest.raises(CatspaceError, match=r"The report needs plotly"):
        run("fit", sales, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["sales.csv"]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--seed", "-1", r"^--seed must be an int from 0 to 4294967295; got -1\.$"),
        ("--validation", "nan", r"^--validation must be a number at least 0 and below 1; got nan"),
        ("--validation", "-0.5", r"^--validation must be .* got -0.5"),
        ("--validation", "1.5", r"^--validation must be .* got 1.5"),
        ("--networks", "0", r"^--networks must be a positive int; got 0"),
    ],
)
def test_options_that_make_no_sense_are_a_sentence(sales, tmp_path, option, value, message):
    with pytest.raises(ParameterError, match=message):
        run("fit", sales, "--target", "y", option, value, "-o", tmp_path / "m.catspace")


def test_a_logarithm_is_that_of_a_number(sales, tmp_path):
    table = write_classes(tmp_path, [1, 2, 3] * 20)
    model, text = tmp_path / "m.catspace", "a regression needs numbers.\nHint: leave out --log"
    run("fit", table, "--target", "kind", "--log", "-o", model)
    assert catspace.load(model).target_transform == "log"
    with pytest.raises(InputError, match=text):
        run("fit", sales, "--target", "town", "--log", "-o", model)
    with pytest.raises(InputError, match=r"^--log learns the logarithm of numbers"):
        run("fit", sales, "--target", "y", "--log", "--task", "classification", "-o", model)


def test_a_fit_keeps_a_row_to_learn_from(sales, tmp_path):
    (tmp_path / "few.csv").write_text("\n".join(sales.read_text().splitlines()[:6]) + "\n")
    arguments = ["--target", "y", "--task", "regression", "--validation", "0.99"]
    run("fit", tmp_path / "few.csv", *arguments, "-o", tmp_path / "m.catspace")
    assert (tmp_path / "m.catspace").exists()


def test_a_target_of_amounts_written_as_text_is_refused(tmp_path):
    rows = [f'"{i}.{i:03d},{i % 100:02d} €";{"ab"[i % 2]}' for i in range(1, 400)]
    (tmp_path / "t.csv").write_text("\n".join(["amount;town", *rows]) + "\n")
    with pytest.raises(InputError, match=r"The target holds 399 different texts in 399 rows"):
        run("fit", tmp_path / "t.csv", "--target", "amount", "-o", tmp_path / "m.catspace")


def test_an_infinite_target_is_one_sentence(sales, tmp_path):
    frame = pd.read_csv(sales)
    frame.loc[::2, "y"] = np.inf
    frame.to_csv(sales, index=False)
    with pytest.raises(InputError, match=r"^Input y contains infinity, first in row 0"):
        run("fit", sales, "--target", "y", "-o", tmp_path / "m.catspace")
