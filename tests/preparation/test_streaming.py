"""Fitting files that need not fit in memory, against fitting the same table in memory."""

import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, make_sales
from catspace.data.statistics import TableStatistics
from catspace.exceptions import CatspaceError
from catspace.preparation.encoding import HoldBack, RowEncoding
from catspace.storage.cache import RowCache

# Stores are numbers in most of these tests, as they come out of a file.
pytestmark = pytest.mark.filterwarnings("ignore:.*look like identifiers")

TINY = {"hidden_layer_sizes": (16,), "embedding_dim": 3, "random_state": 0}
FAST = {**TINY, "max_epochs": 2}
CATEGORIES = ["store", "day_of_week", "promo", "year", "month", "day", "state"]


@pytest.fixture(scope="module")
def table():
    """Sales with a number, some of them missing, and a weight, some of them zero."""
    sales = make_sales(3_000, n_stores=20, random_state=0, backend="pyarrow")
    random = np.random.default_rng(0)
    area = np.where(random.random(3_000) < 0.05, np.nan, random.lognormal(size=3_000))
    columns = {
        name: pa.array(column.to_pylist())
        for name, column in zip(sales.X.column_names, sales.X.columns, strict=True)
    }
    columns["area"] = pa.array(area, from_pandas=True)
    columns["weight"] = pa.array(random.integers(0, 3, size=3_000))
    columns["sales"] = pa.array(sales.y)
    return pa.table(columns)


@pytest.fixture
def folder(table, tmp_path):
    """Write the table to three files of different sizes, with small row groups."""
    folder = tmp_path / "sales"
    folder.mkdir()
    for name, begin, end in (("a", 0, 400), ("b", 400, 2_500), ("c", 2_500, 3_000)):
        part = table.slice(begin, end - begin)
        pq.write_table(part, folder / f"{name}.parquet", row_group_size=130)
    return folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Give each test a folder for temporary files, and find it empty and all caches closed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    opened = []
    original = RowCache.__init__

    def remember(self, *arguments):
        original(self, *arguments)
        opened.append(self)

    monkeypatch.setattr(RowCache, "__init__", remember)
    yield folder
    assert all(cache._file.closed for cache in opened)
    assert list(folder.glob("*catspace*")) == []


@pytest.fixture
def small_parts(monkeypatch):
    """Make blocks, samples and parts of caches so small that this table needs many of each."""
    for name, size in (
        ("tables.BLOCK_ROWS", 250),
        ("learning.SAMPLE_ROWS", 1_000),
        ("encoding.PART_BYTES", 8_000),
    ):
        monkeypatch.setattr(f"catspace.preparation.{name}", size)


def features(table):
    return table.drop_columns(["sales", "weight"])


def assert_same_model(first, second, X):
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    for a, b in zip(first.history_, second.history_, strict=True):
        assert {**a, "seconds": 0} == {**b, "seconds": 0}


# --- the same model as in memory


def sources(folder):
    return {
        "folder": folder,
        "pattern": f"{folder}/*.parquet",
        "dataset": pa.dataset.dataset(folder),
    }


@pytest.mark.parametrize("kind", ["folder", "pattern", "dataset"])
def test_a_table_that_fits_in_one_part_gives_the_bits_of_memory(folder, table, kind):
    settings = {**FAST, "categorical_features": CATEGORIES, "n_networks": 2, "min_frequency": 5}
    streamed = EmbeddingRegressor(**settings).fit(sources(folder)[kind], "sales")
    in_memory = EmbeddingRegressor(**settings).fit(table, "sales")
    X = table.drop_columns(["sales"])
    np.testing.assert_array_equal(streamed.predict(X), in_memory.predict(X))
    assert_same_model(streamed, in_memory, X)
    assert vars(streamed).keys() == vars(in_memory).keys()
    assert streamed.feature_names_in_.tolist() == in_memory.feature_names_in_.tolist()


def test_a_csv_file_and_a_parquet_file_give_the_bits_of_memory(folder, table, tmp_path):
    settings = {**FAST, "categorical_features": CATEGORIES, "target_transform": "log"}
    frame = features(table).to_pandas().assign(sales=table["sales"].to_numpy())
    frame.to_csv(tmp_path / "sales.csv", index=False)
    frame.to_parquet(tmp_path / "sales.parquet")
    in_memory = EmbeddingRegressor(**settings).fit(frame, "sales")
    for ending in ("csv", "parquet"):
        streamed = EmbeddingRegressor(**settings).fit(tmp_path / f"sales.{ending}", "sales")
        assert_same_model(streamed, in_memory, features(table))


def test_weights_bins_and_dates_give_the_bits_of_memory(folder, table, tmp_path):
    day = pa.array(pd.date_range("2020", periods=3_000, freq="h"))
    dated = table.append_column("opened", day)
    pq.write_table(dated, tmp_path / "dated.parquet")
    settings = {
        **FAST,
        "categorical_features": CATEGORIES,
        "date_parts": ["month", "hour"],
        "discretize": {"area": "tree"},
    }
    streamed = EmbeddingRegressor(**settings).fit(tmp_path / "dated.parquet", "sales", "weight")
    in_memory = EmbeddingRegressor(**settings).fit(dated, "sales", "weight")
    assert streamed.embeddings_["area"].categories == in_memory.embeddings_["area"].categories
    X = features(table).append_column("opened", day)
    np.testing.assert_allclose(streamed.predict(X), in_memory.predict(X), rtol=1e-5)


def test_weights_of_classes_in_blocks_are_those_of_memory(table, tmp_path, monkeypatch):
    label = np.where(table["sales"].to_numpy() > 8_000, "much", "little")
    labelled = table.drop_columns(["sales"]).append_column("label", pa.array(label))
    pq.write_table(labelled, tmp_path / "labelled.parquet")
    monkeypatch.setattr("catspace.preparation.tables.BLOCK_ROWS", 250)
    for class_weight in ("balanced", {"much": 5.0, "little": 1.0}):
        settings = {**FAST, "class_weight": class_weight}
        streamed = EmbeddingClassifier(**settings)
        streamed.fit(tmp_path / "labelled.parquet", "label", "weight")
        in_memory = EmbeddingClassifier(**settings).fit(labelled, "label", "weight")
        assert streamed.classes_.tolist() == ["little", "much"]
        X = features(table)
        expected = in_memory.predict_proba(X)
        np.testing.assert_allclose(streamed.predict_proba(X), expected, rtol=1e-3, atol=1e-5)


def test_a_saved_model_that_was_streamed_predicts_the_same(folder, table, tmp_path):
    model = EmbeddingRegressor(**FAST).fit(folder, "sales", "weight")
    model.save(tmp_path / "model.catspace")
    again = catspace.load(tmp_path / "model.catspace")
    np.testing.assert_array_equal(
        again.predict(folder / "a.parquet"), model.predict(features(table[:400]))
    )


# --- larger than a part of the cache


@pytest.mark.usefixtures("small_parts")
def test_the_same_seed_gives_the_same_bits_whatever_the_number_of_jobs(folder, table):
    settings = {**FAST, "n_networks": 3, "dropout": 0.1}
    first = EmbeddingRegressor(n_jobs=1, **settings).fit(folder, "sales", "weight")
    second = EmbeddingRegressor(n_jobs=3, **settings).fit(folder, "sales", "weight")
    for one, other in zip(first.networks_, second.networks_, strict=True):
        for a, b in zip(one.parameters(), other.parameters(), strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


@pytest.mark.usefixtures("small_parts")
def test_streaming_is_as_accurate_as_memory_within_the_noise_of_seeds(tmp_path):
    sales = make_sales(4_000, n_stores=20, random_state=0, backend="pandas")
    frame = sales.X.astype(dict.fromkeys(CATEGORIES[:-1], "int64")).assign(sales=sales.y)
    train, test = frame[::2], frame[1::2]
    train.to_parquet(tmp_path / "by day.parquet")
    # The worst order: each store lies in one place.
    train.sort_values("store", kind="stable").to_parquet(tmp_path / "by store.parquet")

    def errors(source):
        found = []
        for seed in range(5):
            settings = {**TINY, "random_state": seed, "max_epochs": 8, "batch_size": 64}
            model = EmbeddingRegressor(
                categorical_features=CATEGORIES, target_transform="log", **settings
            ).fit(source, "sales")
            predicted = model.predict(test[CATEGORIES])
            found.append(np.mean(np.abs(predicted / test["sales"] - 1)))
        return np.array(found)

    in_memory = errors(train)
    assert in_memory.mean() < 0.2
    for order in ("by day", "by store"):
        streamed = errors(tmp_path / f"{order}.parquet")
        spread = np.sqrt((streamed.var(ddof=1) + in_memory.var(ddof=1)) / 5)
        assert abs(streamed.mean() - in_memory.mean()) < 3 * spread


@pytest.mark.usefixtures("small_parts")
def test_vocabularies_of_many_blocks_are_those_of_memory(folder, table):
    settings = {**FAST, "categorical_features": CATEGORIES, "min_frequency": 40}
    streamed = EmbeddingRegressor(**settings).fit(folder, "sales")
    in_memory = EmbeddingRegressor(**settings).fit(table, "sales")
    for name, embedding in in_memory.embeddings_.items():
        assert streamed.embeddings_[name].categories == embedding.categories
        np.testing.assert_array_equal(streamed.embeddings_[name].counts, embedding.counts)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("kind", "n_classes"),
    [(EmbeddingRegressor, 0), (EmbeddingClassifier, 2), (EmbeddingEncoder, 2)],
)
def test_each_estimator_learns_from_files(table, tmp_path, kind, n_classes):
    sales = table["sales"].to_numpy()
    column = pa.array(np.where(sales > 6_000, "much", "little")) if n_classes else table["sales"]
    pq.write_table(table.drop_columns(["sales"]).append_column("y", column), tmp_path / "t.parquet")
    model = kind(**{**TINY, "max_epochs": 10}, discretize={"area": 4}).fit(tmp_path, "y", "weight")
    assert len(getattr(model, "classes_", [])) == n_classes
    losses = [epoch["loss"] for epoch in model.history_]
    assert losses[-1] < 0.8 * losses[0]
    assert model.embeddings_["area"].categories[0].startswith("0: below ")


# --- validation


@pytest.mark.usefixtures("small_parts")
@pytest.mark.filterwarnings("ignore:A constant does as well")  # with this learning rate
def test_early_stopping_holds_back_rows_of_files(folder, table):
    settings = {**TINY, "max_epochs": 60, "early_stopping": True, "n_iter_no_change": 2}
    first, second = (
        EmbeddingRegressor(learning_rate=0.05, schedule="constant", **settings).fit(folder, "sales")
        for _ in range(2)
    )
    losses = [epoch["validation_loss"] for epoch in first.history_]
    assert len(losses) == first.n_iter_ == first.best_epoch_[0] + 2 < 60
    assert first.best_epoch_ == [1 + np.argmin(losses)]
    assert_same_model(first, second, table.drop_columns(["sales"]))


def test_each_row_is_as_likely_as_any_other_to_be_held_back():
    random, met = np.random.RandomState(0), np.zeros(40)
    for _ in range(2_000):
        hold_back, first = HoldBack(10, 40, random), 0
        for size in (5, 20, 15):
            held_back, used = hold_back.choose(size)
            assert sorted([*held_back, *used]) == list(range(size))
            met[first + held_back] += 1
            first += size
        assert hold_back.n_wanted == 0
    # Each is binomial with 2,000 draws of 1/4: a standard deviation of 19.4.
    assert abs(met - 500).max() < 5 * 19.4


@pytest.mark.usefixtures("small_parts")
def test_rows_held_back_and_rows_to_train_on_are_all_rows(folder, table, monkeypatch):
    seen = []

    def remember(architecture, rows, recipe, seeds, *, validation, **options):
        seen.extend([rows, validation])
        targets = [block.target for part in seen for block in part.in_order(500)]
        seen.append(np.sort(np.concatenate(targets)[:, 0]))
        raise KeyboardInterrupt

    monkeypatch.setattr("catspace.estimators.fitting.train_networks", remember)
    model = EmbeddingRegressor(early_stopping=True, validation_fraction=0.2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(folder, "sales")
    rows, validation, targets = seen
    assert (len(rows), len(validation)) == (2_400, 600)
    sales = np.sort(table["sales"].to_numpy())
    np.testing.assert_allclose(targets, (sales - sales.mean()) / sales.std(), atol=1e-6)


def test_validation_files_judge_like_the_same_rows_in_memory(folder, table):
    model = EmbeddingRegressor(**FAST)
    by_file = model.fit(folder, "sales", X_val=folder / "c.parquet", y_val="sales").history_
    rows = table.slice(2_500)
    in_memory = model.fit(table, "sales", X_val=rows, y_val="sales").history_
    assert [e["validation_loss"] for e in by_file] == [e["validation_loss"] for e in in_memory]
    X_val = rows.drop_columns(["sales"])
    mixed = model.fit(folder, "sales", X_val=X_val, y_val=rows["sales"].to_numpy()).history_
    assert [e["validation_loss"] for e in mixed] == [e["validation_loss"] for e in in_memory]


# --- what goes wrong


def message_of(action):
    with pytest.raises(CatspaceError) as caught:
        action()
    return str(caught.value)


def fit(folder, y="sales", weight=None, **parameters):
    return EmbeddingRegressor(**{**FAST, **parameters}).fit(folder, y, weight)


def replace_column(path, name, values):
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(name), name, values), path)


def test_files_whose_types_differ_say_so(folder):
    replace_column(folder / "b.parquet", "store", pa.array(["x"] * 2_100))
    assert message_of(lambda: fit(folder)).startswith(
        f"Column 'store' holds integers in '{folder}/a.parquet' and text in '{folder}/b.parquet'."
    )


def test_a_target_that_one_file_lacks_is_told(folder):
    path = folder / "b.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["sales"]), path)
    message = f"'{path}' has no column 'sales', and '{folder}/a.parquet' has one."
    assert message_of(lambda: fit(folder)).startswith(message)


def test_a_target_that_no_file_has_is_told(folder):
    message = "The target 'Sales' is not a column of the table. Did you mean 'sales'?"
    assert message_of(lambda: fit(folder, "Sales")).startswith(message)
    message = "The sample_weight 'Weight' is not a column of the table. Did you mean 'weight'?"
    assert message_of(lambda: fit(folder, "sales", "Weight")).startswith(message)


@pytest.mark.parametrize("sample_rows", [200_000, 1_000])
def test_missing_targets_are_counted(folder, table, monkeypatch, sample_rows):
    monkeypatch.setattr("catspace.preparation.learning.SAMPLE_ROWS", sample_rows)
    sales = table["sales"].to_pylist()[400:2_500]
    sales[100:103] = [None] * 3
    replace_column(folder / "b.parquet", "sales", pa.array(sales))
    message = "Input y contains NaN, first in row 500 (3 in all).\nHint: drop the rows"
    assert message_of(lambda: fit(folder)).startswith(message)


def test_a_truncated_file_says_so(folder):
    path = folder / "b.parquet"
    path.write_bytes(path.read_bytes()[:-5_000])
    assert message_of(lambda: fit(folder)).startswith(f"'{path}' cannot be read: ")


def test_a_damaged_row_group_says_so(folder):
    path = folder / "b.parquet"
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 3_000] = b"\xff" * 3_000
    path.write_bytes(content)
    assert message_of(lambda: fit(folder)).startswith(f"'{path}' cannot be read: ")


def test_an_empty_file_among_many_is_skipped_and_one_without_a_byte_is_told(folder, table):
    expected = fit(folder).predict(table.drop_columns(["sales"]))
    pq.write_table(table[:0], folder / "d.parquet")
    np.testing.assert_array_equal(fit(folder).predict(table.drop_columns(["sales"])), expected)
    (folder / "e.parquet").touch()
    message = f"'{folder}/e.parquet' is empty: there is not one byte in it."
    assert message_of(lambda: fit(folder)).startswith(message)


def test_files_without_a_row_say_so(folder, table):
    for name in "abc":
        pq.write_table(table[:0], folder / f"{name}.parquet")
    message = "The table has no rows: 0 sample(s) (shape=(0, 9)) while a minimum of 1 is required."
    assert message_of(lambda: fit(folder)).startswith(message)
    assert message_of(lambda: fit(folder, discretize={"area": 3})).startswith(message)


def test_weights_that_are_all_zero_say_so(folder):
    for name, n in (("a", 400), ("b", 2_100), ("c", 500)):
        replace_column(folder / f"{name}.parquet", "weight", pa.array(np.zeros(n)))
    message = "Sample weights must contain at least one non-zero number; all are zero."
    assert message_of(lambda: fit(folder, weight="weight")).startswith(message)


def test_a_negative_weight_is_told_by_its_row(folder, table):
    weight = table["weight"].to_numpy()[400:2_500].copy()
    weight[10] = -1
    replace_column(folder / "b.parquet", "weight", pa.array(weight))
    message = "Negative values in data passed to sample_weight: -1 in row 410."
    assert message_of(lambda: fit(folder, weight="weight")).startswith(message)


@pytest.mark.parametrize("when", ["first pass", "second pass"])
def test_a_folder_that_changes_during_the_fit_is_noticed(folder, table, monkeypatch, when):
    kind, method = {
        "first pass": (TableStatistics, "add"),
        "second pass": (RowEncoding, "encode"),
    }[when]
    original = getattr(kind, method)

    def change(self, *arguments, **options):
        pq.write_table(table, folder / "c.parquet")
        return original(self, *arguments, **options)

    monkeypatch.setattr(kind, method, change)
    message = (
        f"The files of '{folder}' changed while they were read: '{folder}/c.parquet' was written to"
    )
    assert message_of(lambda: fit(folder)).startswith(message)


def test_no_room_on_the_disk_says_so(folder, temporary, monkeypatch):
    usage = SimpleNamespace(free=1_000)
    monkeypatch.setattr("catspace.storage.cache.shutil.disk_usage", lambda path: usage)
    message = f"The cache of encoded rows needs 0.12 MB and there are 0.00 MB free in '{temporary}'"
    assert message_of(lambda: fit(folder)).startswith(message)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interruption_leaves_nothing_behind(folder, temporary, monkeypatch, error):
    def interrupt(self, block):
        raise error

    monkeypatch.setattr(RowEncoding, "encode", interrupt)
    with pytest.raises(error):
        fit(folder)
    assert list(temporary.glob("*catspace*")) == []


def test_parameters_are_checked_before_anything_is_read(folder, monkeypatch):
    monkeypatch.delattr("catspace.preparation.tables.open_blocks")
    for wrong in (
        {"activation": "rellu"},
        {"batch_size": 0},
        {"n_networks": 0},
        {"device": "x"},
        {"min_frequency": 0},
        {"validation_fraction": 1.5},
        {"class_weight": "balance"},
    ):
        with pytest.raises(CatspaceError, match=f"^{next(iter(wrong))} must be "):
            EmbeddingEncoder(**wrong).fit(folder, "sales")


@pytest.mark.parametrize(
    "wrong",
    [
        {"embedding_dim": {"shop": 3}},
        {"max_categories": {"shop": 3}},
        {"hash_buckets": {"shop": 3}},
        {"discretize": {"shop": 3}},
        {"categorical_features": ["shop"]},
    ],
)
def test_what_the_columns_decide_is_decided_before_a_row_is_read(folder, monkeypatch, wrong):
    monkeypatch.delattr("catspace.preparation.tables.LabelledBlocks.read")
    (name,) = wrong
    with pytest.raises(CatspaceError, match=f"^{name} names 'shop', which is not a"):
        fit(folder, **wrong)


def test_weights_of_validation_rows_weigh_their_losses(folder, table):
    weight = np.r_[np.ones(250), np.zeros(250)]
    judges = table.slice(2_500).set_column(8, "weight", pa.array(weight))
    pq.write_table(judges, folder.parent / "judges.parquet")
    model = EmbeddingRegressor(**FAST)
    options = {"X_val": folder.parent / "judges.parquet", "y_val": "sales"}
    by_name = model.fit(folder, "sales", "weight", sample_weight_val="weight", **options).history_
    X_val, y_val = features(judges.slice(0, 250)), judges["sales"].to_numpy()[:250]
    halved = model.fit(folder, "sales", "weight", X_val=X_val, y_val=y_val).history_
    assert [e["validation_loss"] for e in by_name] == pytest.approx(
        [e["validation_loss"] for e in halved]
    )


def test_files_without_the_name_of_their_target_say_so(folder, table):
    y = table["sales"].to_numpy()
    message = "Files that are read block by block need the names of their columns for y and sample"
    for source in sources(folder).values():
        assert message_of(lambda source=source: fit(source, y)).startswith(message)
    assert message_of(lambda: fit(folder, "sales", y)).startswith(message)


def test_one_file_with_arrays_beside_it_is_read_whole(folder, table):
    y = table["sales"].to_numpy()[:400]
    model = fit(folder / "a.parquet", y)
    assert "sales" in model.feature_names_in_
