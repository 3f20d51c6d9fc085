import numpy as np
import pytest
import ray

from catspace import EmbeddingClassifier, EmbeddingEncoder, make_sales
from catspace.distributed import predict, transform
from catspace.exceptions import InputError

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def table():
    data = make_sales(500, n_stores=10, random_state=0, backend="pandas")
    return data.X.astype(str).assign(row=np.arange(500), big=data.y > np.median(data.y))


@pytest.fixture(scope="module")
def model(table):
    model = EmbeddingClassifier(max_epochs=2, random_state=0)
    return model.fit(table.drop(columns=["row", "big"]), table["big"])


def in_order(dataset):
    return dataset.to_pandas().sort_values("row", ignore_index=True)


def test_predictions_and_probabilities_are_those_of_the_model(model, table):
    dataset = ray.data.from_pandas([table.iloc[:200], table.iloc[200:]])
    found = in_order(predict(model, dataset, probabilities=True))
    X = table[model.feature_names_in_]
    np.testing.assert_array_equal(found["prediction"], model.predict(X))
    np.testing.assert_array_equal(found["probability_True"], model.predict_proba(X)[:, 1])
    assert set(table.columns) < set(found.columns)


def test_vectors_are_those_of_the_model(model, table, tmp_path):
    table.to_parquet(tmp_path / "table.parquet")
    found = in_order(transform(model, tmp_path / "table.parquet", num_workers=1))
    vectors = model.transform(table[model.feature_names_in_])
    np.testing.assert_array_equal(found[model.get_feature_names_out()], vectors)


def test_csv_files_are_read_as_what_the_model_knows_them_to_be(model, table, tmp_path):
    few = table[table["store"] == table["store"][0]]  # text in fit, and here numbers alone
    few.to_csv(tmp_path / "few.csv", index=False)
    found = predict(model, tmp_path / "few.csv", num_workers=1).to_pandas()
    found = found.set_index("row").loc[few["row"].astype(str)]
    np.testing.assert_array_equal(found["prediction"], model.predict(few[model.feature_names_in_]))
    assert found["store"].tolist() == few["store"].tolist()


def test_a_model_without_predictions_says_so(table):
    encoder = EmbeddingEncoder(max_epochs=1, random_state=0)
    encoder.fit(table.drop(columns=["row", "big"]), table["big"])
    with pytest.raises(InputError, match="EmbeddingEncoder does not predict"):
        predict(encoder, ray.data.from_pandas(table))
