"""What an analyst does with a table that has dates, identifiers and missing values in it."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, r2_score

import catspace
from catspace import analysis
from catspace.commands.dates import choose_parts, find_formats
from catspace.commands.fit import with_known_target
from catspace.commands.settings import parse_settings
from catspace.data.reading import read_table
from catspace.exceptions import CatspaceError, ParameterError
from catspace.terminal import PlainConsole
from tests.commands.test_commands import run

DAYS = pd.date_range("2024-01-01", periods=200)
QUICK = ("--set", "max_epochs=2", "--set", "smooth=0", "--task", "regression")


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    n = 600
    day = random.integers(0, 200, n)
    return pd.DataFrame(
        {
            "Date": DAYS[day].strftime("%Y-%m-%d"),
            "town": random.choice(["Aachen", "Bonn", "Celle"], n),
            "rooms": pd.array(np.where(random.random(n) < 0.1, None, random.integers(1, 6, n))),
            "Sales": 100.0 + day + random.normal(size=n),
        }
    )


@pytest.fixture(scope="module")
def fitted(frame, tmp_path_factory):
    """Return a folder with a table, a model of it, and what the command said."""
    folder = tmp_path_factory.mktemp("hour")
    frame.to_csv(folder / "sales.csv", index=False)
    done = run(
        "fit", folder / "sales.csv", "--target", "Sales", "--validate-by", "Date", *QUICK,
        "-o", folder / "m.catspace",
    )  # fmt: skip
    return folder, done.output


def fit(table, folder, *options):
    table.to_csv(folder / "t.csv", index=False)
    out = folder / "m.catspace"
    done = run("fit", folder / "t.csv", "--target", "Sales", *QUICK, *options, "-o", out)
    return catspace.load(out), done.output


def test_dates_are_taken_apart_without_being_asked(fitted):
    folder, output = fitted
    model = catspace.load(folder / "m.catspace")
    parts = ("year", "month", "day", "day_of_week")
    assert model.date_parts == list(parts)
    assert [part for part in parts if f"Date_{part} " in output] == list(parts)


def test_the_latest_rows_are_held_back_and_the_scores_are_theirs(fitted, frame):
    folder, output = fitted
    days = frame["Date"].sort_values().to_numpy()
    since = days[len(days) - 60]
    late = frame["Date"] >= since
    assert f"{late.sum()} rows are held back: the latest, from {since} on." in output
    assert f"On {late.sum()} rows that were held back: the latest, from {since} on" in output
    model = catspace.load(folder / "m.catspace")
    counts = model.embeddings_["town"].counts.sum()
    assert counts == (~late).sum()
    error = mean_absolute_error(frame["Sales"][late], model.predict(frame[late]))
    assert f"{error:.2f}"[:4] in output


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%y", "%Y/%m/%d %H:%M"])
def test_text_that_is_dates_is_expanded_and_predicted_from(frame, tmp_path, form):
    text = frame.assign(Date=pd.to_datetime(frame["Date"]).dt.strftime(form))
    model, _ = fit(text, tmp_path, "--validate-by", "Date")
    assert model.date_formats == {"Date": form}
    run("predict", tmp_path / "m.catspace", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    plain, _ = fit(frame, tmp_path, "--validate-by", "Date", "--dates", ",".join(model.date_parts))
    found = pd.read_csv(tmp_path / "p.csv")["prediction"]
    np.testing.assert_allclose(found, plain.predict(frame), rtol=1e-9)


def test_hours_are_a_part_where_there_are_any():
    days = {"day": pd.date_range("2024-01-01", periods=5)}
    assert "hour" not in choose_parts(read_table(days), {})
    hours = {"day": pd.date_range("2024-01-01", periods=5, freq="7h")}
    assert choose_parts(read_table(hours), {})[-1] == "hour"
    text = {"day": ["1.2.2024 12:30"]}
    assert choose_parts(read_table(text), {"day": "%d.%m.%Y %H:%M"})[-1] == "hour"


def test_dates_can_be_refused_or_be_categories(frame, tmp_path):
    with pytest.raises(CatspaceError, match=r"Column 'Date' holds dates"):
        fit(frame, tmp_path, "--dates", "none")
    text = frame.assign(Date=pd.to_datetime(frame["Date"]).dt.strftime("%d.%m.%Y"))
    with pytest.raises(CatspaceError, match=r"Column 'Date' holds dates, and --dates none refuses"):
        fit(text, tmp_path, "--dates", "none")
    for table in (frame, text):
        model, _ = fit(table, tmp_path, "--dates", "none", "--categorical", "Date")
        assert len(model.embeddings_["Date"]) > 100
    with pytest.raises(CatspaceError, match=r"date_parts holds 'months'.* Did you mean 'month'"):
        fit(frame, tmp_path, "--dates", "months")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda day, i: "soon" if i == 7 else day, r"holds dates such as .*, and \['soon'\]"),
        (
            lambda day, i: "2024-02-31" if i < 1 else day,
            r"holds dates such as '(?!2024-02-31).*, and \['2024-02-31'\]",
        ),
        (
            lambda day, i: pd.Timestamp(day).strftime("%d.%m.%Y") if i % 2 else day,
            r"holds dates of several forms, such as '\d{4}-.*' and '\d\d\.|'\d\d\..* and '\d{4}-",
        ),
        (
            lambda day, i: f"0{i % 9 + 1}/0{i % 7 + 1}/2024",
            r"(?s)nobody can tell the day from the month.*date_formats=.*%d/%m/%Y.* or ",
        ),
    ],
)
def test_text_that_is_nearly_dates_is_a_sentence(frame, tmp_path, change, message):
    odd = frame.assign(Date=[change(day, i) for i, day in enumerate(frame["Date"])])
    with pytest.raises(CatspaceError, match=message):
        fit(odd, tmp_path)
    assert not (tmp_path / "m.catspace").exists()
    fit(odd, tmp_path, "--drop", "Date")


def test_codes_that_look_like_dates_are_plain_text():
    codes = {"code": [f"{i % 90 + 10}.{i % 70 + 20}.{i % 60 + 30}" for i in range(200)]}
    assert find_formats(read_table(codes)) == {}


def test_who_knows_the_day_from_the_month_says_it(frame, tmp_path):
    odd = frame.assign(Date=[f"0{i % 9 + 1}/0{i % 7 + 1}/2024" for i in range(len(frame))])
    model, _ = fit(odd, tmp_path, "--set", "date_formats={'Date': '%d/%m/%Y'}", "--dates", "month")
    assert model.embeddings_["Date_month"].categories == list(range(1, 8))


def test_validation_that_cannot_be_is_a_sentence(frame, tmp_path):
    with pytest.raises(CatspaceError, match="--validate-by names 'town', which holds no dates"):
        fit(frame, tmp_path, "--validate-by", "town")
    with pytest.raises(CatspaceError, match=r"--validate-by names 'date'.* Did you mean 'Date'"):
        fit(frame, tmp_path, "--validate-by", "date")
    with pytest.raises(CatspaceError, match=r"all rows have the same 'Date', 2024-02-01, so that"):
        fit(frame.assign(Date="2024-02-01"), tmp_path, "--validate-by", "Date")
    with pytest.raises(CatspaceError, match="--validation 0 holds back none"):
        fit(frame, tmp_path, "--validate-by", "Date", "--validation", 0)
    for share in ("-0.1", "1", "2"):
        with pytest.raises(ParameterError, match="--validation must be a number at least 0 and be"):
            fit(frame, tmp_path, "--validation", share)


def test_dates_that_are_all_equal_can_be_learned_from(frame, tmp_path):
    model, _ = fit(frame.assign(Date="2024-02-01"), tmp_path)
    assert np.isfinite(model.predict(tmp_path / "t.csv")).all()


def test_a_column_that_is_left_out_can_still_decide_what_is_held_back(frame, tmp_path):
    model, output = fit(frame, tmp_path, "--drop", "Date", "--validate-by", "Date")
    assert "the latest, from" in output
    assert "Date" not in model.feature_names_in_


def test_early_stopping_is_judged_by_late_rows_that_no_score_comes_from(frame, tmp_path):
    model, _ = fit(frame, tmp_path, "--validate-by", "Date", "--early-stopping")
    assert model.early_stopping
    assert all(epoch["validation_loss"] is not None for epoch in model.history_)
    days = np.sort(frame["Date"].to_numpy())
    used = days[days < days[len(days) - 60]]
    used = used[used < used[len(used) - round(0.1 * len(used))]]
    assert model.embeddings_["town"].counts.sum() == len(used)


def test_every_parameter_can_be_set_and_is_checked_by_the_estimator(frame, tmp_path):
    model, _ = fit(
        frame, tmp_path, "--set", "hidden_layer_sizes=(8, 4)", "--set", "schedule=constant",
        "--set", "embedding_dim={'town': 2}", "--set", "dropout=0.25",
    )  # fmt: skip
    assert model.hidden_layer_sizes == (8, 4)
    assert (model.schedule, model.dropout, model.max_epochs) == ("constant", 0.25, 2)
    assert model.embedding_dims_["town"] == 2
    for typed, message in (
        ("max_epoch=3", r"--set names 'max_epoch', .* Did you mean 'max_epochs'"),
        ("n_networks=3", r"--set names 'n_networks', which has an option of its own: --networks"),
        ("dropout=2", "dropout must be"),
        ("dropout", r"--set takes name=value; got 'dropout'"),
        ("class_weight=balanced", r"'class_weight', which is no parameter of a regression"),
    ):
        with pytest.raises(CatspaceError, match=message):
            fit(frame, tmp_path, "--set", typed)
    with pytest.raises(ParameterError, match="--set gives 'dropout' twice"):
        parse_settings(["dropout=0", "dropout=1"])
    assert parse_settings(["a=true", "b=None", "c=x=y"]) == {"a": True, "b": None, "c": "x=y"}


def test_vectors_can_be_given_and_shared_on_the_command_line(frame, tmp_path):
    (tmp_path / "towns.txt").write_text("2 3\nBonn 1 2 3\nCelle 4 5 6\n")
    model, _ = fit(
        frame.assign(other=frame["town"].to_numpy()[::-1]), tmp_path,
        "--set", f"initial_vectors={{'town': {str(tmp_path / 'towns.txt')!r}}}",
        "--set", "frozen_columns=['town']", "--set", "shared_vectors=[['town', 'other']]",
    )  # fmt: skip
    for column in ("town", "other"):
        assert model.embeddings_[column].vector("Celle").tolist() == [4, 5, 6]
        assert model.embeddings_[column].vector("Aachen").tolist() == [2.5, 3.5, 4.5]


def test_a_fit_encodes_each_row_once(frame, tmp_path, monkeypatch):
    from catspace.data.encoding import TableEncoder

    encoded, encode = [], TableEncoder.encode

    def counting(self, table, **options):
        encoded.append(table.n_rows)
        return encode(self, table, **options)

    monkeypatch.setattr(TableEncoder, "encode", counting)
    fit(frame, tmp_path)
    assert sorted(encoded) == [60, 540]


def test_score_gives_the_metrics_of_the_task(fitted, frame):
    folder, _ = fitted
    model = catspace.load(folder / "m.catspace")
    done = run("score", folder / "m.catspace", folder / "sales.csv", "--json")
    found = json.loads(done.stdout)
    predicted = model.predict(frame)
    assert found["rows"] == 600
    scores = found["scores"]["catspace"]
    assert scores["R²"] == pytest.approx(r2_score(frame["Sales"], predicted))
    assert scores["mean absolute error"] == pytest.approx(
        mean_absolute_error(frame["Sales"], predicted)
    )
    rmse = np.sqrt(np.mean((frame["Sales"] - predicted) ** 2))
    assert scores["root mean squared error"] == pytest.approx(rmse)
    assert found["scores"]["mean"]["R²"] == pytest.approx(0)
    table = run(
        "score", folder / "m.catspace", folder / "sales.csv", "--boosting", folder / "sales.csv"
    ).output  # fmt: skip
    assert "gradient boosting" in table


@pytest.mark.parametrize(
    ("sales", "said"),
    [([None, 1.0], "1 row without y is left out.\n"), ([1.0, 2.0], "")],
)
def test_a_row_without_a_target_is_said_to_be_left_out(sales, said):
    console = PlainConsole(file=io.StringIO())
    known = with_known_target(read_table({"town": ["a", "b"], "y": sales}), "y", console)
    assert known.n_rows == 2 - sales.count(None)
    assert console.file.getvalue() == said


def test_score_leaves_out_rows_without_a_target_and_needs_one(fitted, frame, tmp_path):
    folder, _ = fitted
    frame.assign(Sales=frame["Sales"].where(frame.index > 9)).to_csv(tmp_path / "t.csv")
    done = run("score", folder / "m.catspace", tmp_path / "t.csv")
    assert "10 rows without Sales are left out." in done.output
    assert "On 590 rows" in done.output
    frame.drop(columns="Sales").to_csv(tmp_path / "t.csv")
    for command in ("score", "importance"):
        with pytest.raises(CatspaceError, match="has no column 'Sales', which is the target"):
            run(command, folder / "m.catspace", tmp_path / "t.csv")


def test_importance_is_that_of_the_analysis(fitted, frame):
    folder, _ = fitted
    model = catspace.load(folder / "m.catspace")
    done = run("importance", folder / "m.catspace", folder / "sales.csv", "--json")
    found = {record["column"]: record["importance"] for record in json.loads(done.stdout)}
    expected = analysis.importance(model, folder / "sales.csv")
    assert found == dict(
        zip(expected["column"].to_pylist(), expected["importance"].to_pylist(), strict=True)
    )
    assert set(found) == {"Date", "town", "rooms"}
    table = run(
        "importance", folder / "m.catspace", folder / "sales.csv", "--together", "town,rooms"
    ).output  # fmt: skip
    assert "town + rooms" in table
    assert "How much the mean absolute error of" in table


def test_importance_that_cannot_be_told_is_a_sentence(fitted, frame, tmp_path):
    folder, _ = fitted
    frame[:1].to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(CatspaceError, match="The table has 1 row, and nothing"):
        run("importance", folder / "m.catspace", tmp_path / "one.csv")
    frame.assign(Sales=5.0).to_csv(tmp_path / "constant.csv", index=False)
    with pytest.raises(CatspaceError, match=r"The target is 5.0 in all 600 rows"):
        run("importance", folder / "m.catspace", tmp_path / "constant.csv")
    with pytest.raises(CatspaceError, match=r"groups names 'Town'.* Did you mean 'town'"):
        run("importance", folder / "m.catspace", folder / "sales.csv", "--together", "Town,rooms")


@pytest.mark.parametrize("n_rows", [60, 600])
@pytest.mark.parametrize("has_missing", [False, True])
def test_identifiers_are_named_on_small_tables_and_with_missing_values(
    tmp_path, n_rows, has_missing
):
    random = np.random.default_rng(0)
    store = random.integers(1, 1116, n_rows).astype(float)
    store[:5] = np.nan if has_missing else 1
    table = pd.DataFrame({"Store": store, "Sales": random.normal(size=n_rows)})
    if not has_missing:
        table = table.astype({"Store": int})
    with pytest.warns(catspace.exceptions.CatspaceWarning, match="'Store' holds integers that loo"):
        fit(table, tmp_path)


def test_whole_numbers_with_missing_ones_may_be_categories_where_they_are_few(tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"zone": random.integers(20, 100, 600) * 3.0})
    table["metres"] = random.integers(20, 200, 600) * 10.0  # which may well be measured
    table[:5] = np.nan
    _, output = fit(table.assign(Sales=random.normal(size=600)), tmp_path)
    assert "--categorical zone" in output
    assert "zone,metres" not in output


def test_the_version_is_told():
    assert run("--version").stdout == f"catspace {catspace.__version__}\n"
