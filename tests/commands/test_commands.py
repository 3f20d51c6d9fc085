"""A newcomer's way through the commands, on files as they have them."""

import io
import json
import os
import sys

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import catspace
from catspace.commands.cli import app
from catspace.exceptions import CatspaceError, CatspaceWarning
from catspace.storage.sinks import TableSink

runner = CliRunner()


def run(*arguments, code=0, **keywords):
    """Run a command in this process; errors of catspace come through as they are."""
    done = runner.invoke(app, [str(a) for a in arguments], **keywords)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write a CSV of sales with a few holes, and fit a model to it."""
    folder = tmp_path_factory.mktemp("files")
    sales = catspace.make_sales(3_000, n_stores=20, backend="pandas")
    frame = sales.X.astype({"store": int}).assign(Sales=sales.y, Customers=1)
    frame.loc[5, "state"] = None
    frame.to_csv(folder / "sales.csv", index=False)
    done = run(
        "fit", folder / "sales.csv", "--target", "Sales", "--categorical",
        "store,day_of_week,promo,year,month,day", "--drop", "Customers", "--log",
        "-o", folder / "sales.catspace",
    )  # fmt: skip
    return folder, done.output


def test_fit_tells_how_columns_are_understood_and_how_well_it_does(files):
    folder, output = files
    store = next(line for line in output.splitlines() if "store" in line)
    assert [cell.strip() for cell in store.split("│")[1:-1]] == [
        "store", "integers", "category", "20", "0", "10",
    ]  # fmt: skip
    for word in ("gradient boosting", "mean", "R²", "MAPE", "sales.catspace"):
        assert word in output
    assert (folder / "sales.catspace").exists()


def test_the_mean_is_that_of_the_target_also_where_its_logarithm_is_learned(files):
    folder, _ = files
    done = run("score", folder / "sales.catspace", folder / "sales.csv", "--json")
    assert json.loads(done.stdout)["scores"]["mean"]["R²"] == pytest.approx(0)


@pytest.mark.filterwarnings("ignore:.*look like identifiers")
def test_fit_for_a_script_prints_json_alone(files):
    folder, _ = files
    done = run(
        "fit", folder / "sales.csv", "--target", "Sales", "--json",
        "-o", folder / "other.catspace",
    )  # fmt: skip
    assert "--categorical store,day_of_week,promo,year,month,day" in done.stderr
    scores = json.loads(done.stdout)["scores"]
    assert set(scores) == {"catspace", "gradient boosting", "mean"}


def test_several_quantiles_are_columns_with_their_names(files, tmp_path):
    folder, _ = files
    model, out = tmp_path / "quantiles.catspace", tmp_path / "predicted.parquet"
    done = run(
        "fit", folder / "sales.csv", "--target", "Sales", "--categorical",
        "store,day_of_week,promo,year,month,day", "--drop", "Customers", "--log",
        "--set", "loss=quantile", "--set", "quantile=[0.1, 0.5, 0.9]", "--set", "max_epochs=2",
        "--set", "smooth=8", "-o", model,
    )  # fmt: skip
    assert "catspace" in done.output
    assert "There is no score" not in done.output
    run("predict", model, folder / "sales.csv", "-o", out)
    found = pd.read_parquet(out)
    columns = ["prediction_0.1", "prediction_0.5", "prediction_0.9"]
    assert list(found.columns[-3:]) == columns
    sales = pd.read_csv(folder / "sales.csv")
    np.testing.assert_array_equal(
        found[columns], catspace.load(model).predict(sales[found.columns[:-5]])
    )


def test_a_loss_of_numbers_makes_small_counts_numbers_and_scores_them_as_counts(tmp_path):
    random = np.random.default_rng(0)
    town = random.integers(6, size=600)
    frame = pd.DataFrame({"town": [f"T{t}" for t in town], "claims": random.poisson(1 + town / 3)})
    frame.to_csv(tmp_path / "claims.csv", index=False)
    done = run(
        "fit", tmp_path / "claims.csv", "--target", "claims", "--set", "loss=poisson",
        "--set", "max_epochs=3", "--json", "-o", tmp_path / "claims.catspace",
    )  # fmt: skip
    scores = json.loads(done.stdout)["scores"]
    assert all("D²" in scores[method] for method in ("catspace", "gradient boosting", "mean"))
    frame["claims"] = "many"
    frame.to_csv(tmp_path / "words.csv", index=False)
    with pytest.raises(CatspaceError, match="leave out --set loss, or choose another --target"):
        run(
            "fit", tmp_path / "words.csv", "--target", "claims", "--set", "loss=poisson",
            "-o", tmp_path / "words.catspace",
        )  # fmt: skip


def test_predictions_are_those_of_the_model_and_the_file_stays_as_it_is(files):
    folder, _ = files
    out = folder / "predicted.csv"
    run("predict", folder / "sales.catspace", folder / "sales.csv", "-o", out)
    before, after = (pd.read_csv(path, dtype=str) for path in (folder / "sales.csv", out))
    pd.testing.assert_frame_equal(after.drop(columns="prediction"), before)
    model = catspace.load(folder / "sales.catspace")
    expected = model.predict(folder / "sales.csv")
    np.testing.assert_allclose(after["prediction"].astype(float), expected, rtol=1e-12)


def test_a_parquet_file_gives_the_same_predictions(files):
    folder, _ = files
    pl.read_csv(folder / "sales.csv").write_parquet(folder / "sales.parquet")
    out = folder / "predicted.parquet"
    run("predict", folder / "sales.catspace", folder / "sales.parquet", "-o", out)
    model = catspace.load(folder / "sales.catspace")
    np.testing.assert_array_equal(
        pd.read_parquet(out)["prediction"], model.predict(folder / "sales.csv")
    )


def test_unseen_and_missing_categories_are_predicted_too(files):
    folder, _ = files
    text = (folder / "sales.csv").read_text().splitlines()
    odd = text[1].split(",")
    odd[0], odd[-3] = "four", ""
    (folder / "odd.csv").write_text("\n".join([text[0], ",".join(odd)]) + "\n")
    out = folder / "odd-predicted.csv"
    with pytest.warns(catspace.exceptions.CatspaceWarning, match="held numbers in fit"):
        run("predict", folder / "sales.catspace", folder / "odd.csv", "-o", out)
    assert pd.read_csv(out)["prediction"][0] > 0


def test_transform_adds_a_column_for_each_dimension(files):
    folder, _ = files
    out = folder / "vectors.parquet"
    run("transform", folder / "sales.catspace", folder / "sales.csv", "-o", out)
    model = catspace.load(folder / "sales.catspace")
    names = model.get_feature_names_out().tolist()
    vectors = pd.read_parquet(out)[names].to_numpy()
    np.testing.assert_array_equal(vectors, model.transform(folder / "sales.csv"))


def test_transform_gives_numbers_on_the_networks_scale_beside_the_files_own(tmp_path):
    frame = pd.DataFrame({"town": list("abc") * 20, "size": np.arange(60.0), "y": np.arange(60.0)})
    frame.loc[3, "size"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.catspace", tmp_path / "v.csv"
    run("fit", tmp_path / "t.csv", "--target", "y", "--task", "regression", "-o", model)
    run("transform", model, tmp_path / "t.csv", "-o", out)
    found, vectors = pd.read_csv(out), catspace.load(model).transform(tmp_path / "t.csv")
    pd.testing.assert_frame_equal(found[["town", "size", "y"]], frame)
    added = found.drop(columns=["town", "size", "y"])
    assert added.columns[-2:].tolist() == ["size_scaled", "size_missing"]
    np.testing.assert_allclose(added.to_numpy(), vectors, rtol=1e-6)


def test_a_pattern_stands_for_many_files(files):
    folder, _ = files
    frame = pd.read_csv(folder / "sales.csv")
    (folder / "parts").mkdir()
    for i in range(3):
        frame.iloc[i * 1000 : (i + 1) * 1000].to_csv(folder / "parts" / f"{i}.csv", index=False)
    out = folder / "all.csv"
    run("predict", folder / "sales.catspace", folder / "parts" / "*.csv", "-o", out)
    model = catspace.load(folder / "sales.catspace")
    found = pd.read_csv(out)["prediction"]
    np.testing.assert_allclose(found, model.predict(folder / "sales.csv"), rtol=1e-12)


def test_files_to_learn_from_are_understood_together(tmp_path):
    from catspace.commands.fit import read_source

    (tmp_path / "a.csv").write_text("id,n\n7,1\n")
    (tmp_path / "b.csv").write_text("n,id,new\n2.5,A7,x\n")
    with pytest.warns(CatspaceWarning, match=r"Not all files of .* have the columns \['new'\]"):
        table = read_source(f"{tmp_path}/*.csv")
    assert table.to_pydict() == {"id": ["7", "A7"], "n": [1.0, 2.5], "new": [None, "x"]}


def test_standard_input_and_output_are_a_dash(files, monkeypatch, capfdbinary):
    folder, _ = files
    top = "\n".join((folder / "sales.csv").read_text().splitlines()[:4]) + "\n"

    class Pipe:
        buffer = io.BytesIO(top.encode())

    monkeypatch.setattr(sys, "stdin", Pipe)
    from catspace.commands.predict import score_files

    score_files(catspace.load(folder / "sales.catspace"), "-", str(folder / "piped.csv"))
    assert len(pd.read_csv(folder / "piped.csv")) == 3


def test_neighbours_are_those_of_the_embedding(files):
    folder, _ = files
    done = run("neighbors", folder / "sales.catspace", "store", "12", "-k", "3", "--json")
    found = json.loads(done.stdout)
    expected = catspace.load(folder / "sales.catspace").embeddings_["store"].nearest(12, k=3)
    assert [record["category"] for record in found] == list(expected["category"].to_pylist())
    assert "Closest to 12" in run("neighbors", folder / "sales.catspace", "store", "12").output


@pytest.mark.parametrize("name", ["store.csv", "store.parquet", "store.w2v", "projector/"])
def test_vectors_are_written_in_every_format(files, name):
    folder, _ = files
    out = f"{folder}/{name}"
    run("embeddings", folder / "sales.catspace", "store", "-o", out)
    embedding = catspace.load(folder / "sales.catspace").embeddings_["store"]
    if name.endswith(".csv"):
        written = pd.read_csv(out)["store_0"].to_numpy()
    elif name.endswith(".parquet"):
        written = pd.read_parquet(out)["store_0"].to_numpy()
    elif name.endswith(".w2v"):
        written = np.loadtxt(out, skiprows=1)[:, 1]
    else:
        written = np.loadtxt(f"{out}/vectors.tsv")[:, 0]
    np.testing.assert_allclose(written, embedding.vectors[:, 0], rtol=1e-6)


def test_info_tells_what_is_in_the_file(files):
    folder, _ = files
    found = json.loads(run("info", folder / "sales.catspace", "--json").stdout)
    assert found["estimator"] == "EmbeddingRegressor"
    smooth = found["columns"][0].pop("smooth")
    assert smooth == catspace.load(folder / "sales.catspace").smooth_["store"] > 0
    assert found["columns"][0] == {
        "column": "store", "categories": 20, "dimension": 10, "rows": 2700,
    }  # fmt: skip
    assert found["target"] == "Sales"
    shown = " ".join(run("info", folder / "sales.catspace").output.split())
    assert "EmbeddingRegressor, to predict Sales: 1 network" in shown


def test_an_exported_graph_predicts_like_the_command(files):
    folder, _ = files
    out = folder / "sales.onnx"
    done = run("export", folder / "sales.catspace", "--onnx", out, "--json")
    written = json.loads(done.stdout)
    assert written["bytes"] == out.stat().st_size
    assert written["outputs"] == ["prediction"]
    frame = pd.read_csv(folder / "sales.csv")
    feeds = {
        column["name"]: frame[column["name"]].fillna(column["missing"]).to_numpy()[:, None]
        if column["type"] == "string"
        else frame[column["name"]].to_numpy(float)[:, None]
        for column in written["inputs"]
    }
    (predicted,) = onnxruntime.InferenceSession(out).run(None, feeds)
    expected = catspace.load(folder / "sales.catspace").predict(folder / "sales.csv")
    np.testing.assert_allclose(predicted[:, 0], expected, rtol=1e-5)


def test_export_tells_what_goes_in_and_what_comes_out(files):
    folder, _ = files
    output = run("export", folder / "sales.catspace", "--onnx", folder / "told.onnx").output
    assert "returns prediction" in " ".join(output.split())
    state = next(line for line in output.splitlines() if "state" in line)
    assert [cell.strip() for cell in state.split("│")[1:-1]] == [
        "state",
        "string",
        "category",
        "''",
    ]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere/m.onnx", r"^There is no folder '.*nowhere' to write to"),
        ("folder.onnx", r"folder.onnx' cannot be written: Is a directory"),
    ],
)
def test_a_graph_that_cannot_be_written_leaves_nothing_behind(files, tmp_path, where, message):
    (tmp_path / "folder.onnx").mkdir()
    with pytest.raises(CatspaceError, match=message):
        run("export", files[0] / "sales.catspace", "--onnx", tmp_path / where)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.onnx"]


def test_classes_are_predicted_with_their_probabilities(tmp_path):
    frame = pd.DataFrame({"town": ["a", "b"] * 200, "hot": ["yes", "no"] * 200})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.catspace", tmp_path / "p.csv"
    output = run("fit", tmp_path / "t.csv", "--target", "hot", "-o", model).output
    assert "majority" in output
    run("predict", model, tmp_path / "t.csv", "--proba", "-o", out)
    found = pd.read_csv(out)
    assert (found["prediction"] == found["hot"]).all()
    np.testing.assert_allclose(found["probability_no"] + found["probability_yes"], 1)


def test_names_that_look_like_formulas_are_made_safe_in_csv(tmp_path):
    frame = pd.DataFrame({"town": ["=1+1", "@b", "c", "-d"] * 50, "y": np.arange(200.0)})
    frame.to_parquet(tmp_path / "t.parquet")
    model = tmp_path / "m.catspace"
    run("fit", tmp_path / "t.parquet", "--target", "y", "-o", model)
    run("embeddings", model, "town", "-o", tmp_path / "v.csv")
    run("embeddings", model, "town", "-o", tmp_path / "v.parquet")
    assert set(pd.read_csv(tmp_path / "v.csv")["category"]) == {"'=1+1", "'@b", "c", "'-d"}
    assert set(pd.read_parquet(tmp_path / "v.parquet")["category"]) == {"=1+1", "@b", "c", "-d"}


def test_classes_that_look_like_formulas_are_made_safe_in_csv(tmp_path):
    frame = pd.DataFrame({"=a": ["x", "y"] * 100, "b": [-1.5, 2] * 100, "kind": ["=1", "-z"] * 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, out = tmp_path / "m.catspace", tmp_path / "p.csv"
    run("fit", tmp_path / "t.csv", "--target", "kind", "-o", model)
    run("predict", model, tmp_path / "t.csv", "--proba", "-o", out)
    found = pd.read_csv(out)
    assert found.columns.tolist() == [
        "'=a", "b", "kind", "prediction", "probability_-z", "probability_=1",
    ]  # fmt: skip
    assert set(found["prediction"]) == {"'=1", "'-z"}
    assert (found["prediction"] == found["kind"]).all()
    assert found["b"].tolist() == frame["b"].tolist()
    run("transform", model, tmp_path / "t.csv", "-o", out)
    assert not [name for name in pd.read_csv(out).columns if name.startswith("=")]


def test_a_parquet_file_with_lists_is_scored_into_csv(tmp_path):
    frame = pd.DataFrame({"town": ["a", "b"] * 50, "y": np.arange(100.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.assign(tags=[[1, 2]] * 100).to_parquet(tmp_path / "t.parquet")
    model, out = tmp_path / "m.catspace", tmp_path / "p.csv"
    run("fit", tmp_path / "t.csv", "--target", "y", "-o", model)
    run("predict", model, tmp_path / "t.parquet", "-o", out)
    assert pd.read_csv(out)["tags"].tolist() == ["[1, 2]"] * 100


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("town;y\nK\u00f6ln;{}\n", "latin-1"),
        ("\ufefftown,y\nK\u00f6ln,{}\n", "utf-8"),
        ("town\ty\nK\u00f6ln\t{}\n", "utf-8"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is not UTF-8 text")
def test_files_as_people_have_them_can_be_learned_from(tmp_path, text, encoding):
    head, row, _ = text.split("\n")
    lines = [head, *(row.format(i) for i in range(60))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding=encoding)
    model = tmp_path / "m.catspace"
    run("fit", tmp_path / "t.csv", "--target", "y", "--task", "regression", "-o", model)
    assert catspace.load(model).embeddings_["town"].categories == ["Köln"]
    run("predict", model, tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    assert "Köln" in (tmp_path / "p.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "Slaes"],
            "--target names 'Slaes', which is not a column. Did you mean 'Sales'",
        ),
        (["--target", "Sales", "--drop", "Custmers"], "--drop names 'Custmers'"),
        (["--target", "state", "--task", "regression"], "a regression needs numbers"),
        (["--target", "Sales", "--task", "ranking"], "--task must be"),
    ],
)
def test_a_fit_that_cannot_be_is_a_sentence(files, tmp_path, arguments, message):
    with pytest.raises(CatspaceError, match=message):
        run("fit", files[0] / "sales.csv", *arguments, "-o", tmp_path / "m.catspace")
    assert not list(tmp_path.iterdir())


def test_a_ragged_file_leaves_nothing_behind(files, tmp_path):
    folder, _ = files
    (tmp_path / "bad.csv").write_text((folder / "sales.csv").read_text() + "1,2\n")
    with pytest.raises(CatspaceError, match=r"bad.csv' cannot be read: .*Expected 9 columns"):
        run("predict", folder / "sales.catspace", tmp_path / "bad.csv", "-o", tmp_path / "p.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.csv"]


def test_what_is_not_a_model_says_so(files, tmp_path):
    with pytest.raises(CatspaceError, match=r"sales.csv' is not a catspace model file"):
        run("info", files[0] / "sales.csv")


def test_a_missing_column_is_named(files, tmp_path):
    (tmp_path / "few.csv").write_text("store,state\n1,HE\n")
    with pytest.raises(CatspaceError, match=r"^The file has no 'day_of_week' and no 'promo'"):
        run("predict", files[0] / "sales.catspace", tmp_path / "few.csv")


def test_a_folder_that_is_not_there_is_named(files, tmp_path):
    with pytest.raises(CatspaceError, match=r"^There is no folder '.*nowhere' to write to"):
        run(
            "predict", files[0] / "sales.catspace", files[0] / "sales.csv",
            "-o", tmp_path / "nowhere" / "p.csv",
        )  # fmt: skip


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is full")  # noqa: PTH110
def test_a_full_disk_leaves_nothing_under_the_final_name(files, tmp_path, monkeypatch):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    monkeypatch.setattr("catspace.storage.writing._create", lambda *place, **options: (full, None))
    import pyarrow as pa

    sink = TableSink(tmp_path / "p.csv")
    with pytest.raises(CatspaceError, match=r"p.csv' cannot be written: .*[Nn]o space left"), sink:
        sink.write(pa.table({"a": np.arange(10_000_000)}))
    assert not list(tmp_path.iterdir())


def test_an_error_of_the_reader_is_not_blamed_on_the_output(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"in.csv"), TableSink(tmp_path / "p.csv"):
        (tmp_path / "in.csv").read_text()
    assert not list(tmp_path.iterdir())


def test_fit_writes_a_report_with_the_scores_it_printed(files, tmp_path):
    folder, _ = files
    done = run(
        "fit", folder / "sales.csv", "--target", "Sales", "--json", "--log",
        "--categorical", "store,day_of_week,promo,year,month,day",
        "-o", tmp_path / "m.catspace", "--report", tmp_path / "page.html",
    )  # fmt: skip
    result = json.loads(done.stdout)
    assert result["report"] == str(tmp_path / "page.html")
    page = report_data(tmp_path / "page.html")
    assert page["target"] == "Sales"
    shown = {method: values for method, *values in page["scores"]["rows"]}
    assert shown["catspace"] == pytest.approx(list(result["scores"]["catspace"].values()))
    assert dict(page["facts"])["rows in training"] == result["rows"]


def test_a_model_file_remembers_its_target_for_the_report(files, tmp_path):
    folder, _ = files
    out = tmp_path / "page.html"
    done = run("report", folder / "sales.catspace", "--data", folder / "sales.csv", "-o", out)
    assert "The report is in" in done.stdout
    columns = {column["name"]: column for column in report_data(out)["columns"]}
    state = columns["state"]
    means = pd.read_csv(folder / "sales.csv").groupby("state")["Sales"].mean()
    target = next(colour for colour in state["colours"] if colour["name"] == "target")
    expected = means[state["categories"]].tolist()
    assert target["values"] == pytest.approx(expected, rel=1e-4)


def test_a_report_without_its_table_has_the_maps(files, tmp_path):
    folder, _ = files
    run("report", folder / "sales.catspace", "-o", tmp_path / "page.html")
    assert all("colours" not in column for column in report_data(tmp_path / "page.html")["columns"])


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_a_place_that_is_not_there_is_refused_before_training(files, tmp_path, option):
    folder, _ = files
    good = {"-o": tmp_path / "m.catspace", "--report": tmp_path / "p.html"}
    arguments = [
        part for pair in ({**good, option: tmp_path / "no" / "x"}).items() for part in pair
    ]
    with pytest.raises(CatspaceError, match=r"There is no folder '.*no' to write to"):
        run("fit", folder / "not-even-read.csv", "--target", "Sales", *arguments)
    assert list(tmp_path.iterdir()) == []


def report_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">', 1)[1].split("</script>", 1)[0])
