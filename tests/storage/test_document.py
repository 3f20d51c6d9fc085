"""Model files with a right checksum: what is no model is refused before anything is built."""

import json
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

import catspace
from catspace import EmbeddingRegressor
from catspace.data.encoding import Scaling
from catspace.data.schema import Schema
from catspace.exceptions import ModelFileError
from catspace.model.architecture import Architecture
from catspace.model.layers import ACTIVATIONS
from catspace.model.recipe import CUSTOM, REGRESSION_LOSSES, Recipe
from catspace.model.turns import Epoch
from catspace.storage import model_form
from tests.storage.crafting import arrow_stream, bounded_memory, run_campaign, sign, take_apart
from tests.storage.small_models import SETTINGS, X, save_classifier, save_regressor, y


@pytest.fixture(scope="module")
def regressor(tmp_path_factory):
    return save_regressor(tmp_path_factory.mktemp("regressor"))


@pytest.fixture(scope="module")
def quantiles(tmp_path_factory):
    path = tmp_path_factory.mktemp("quantiles") / "quantiles.catspace"
    model = EmbeddingRegressor(loss="quantile", quantile=[0.1, 0.9], **SETTINGS).fit(X, y)
    target = replace(model.fitted_.learned.target, shifts=(-0.5, 0.5))
    model.fitted_ = replace(model.fitted_, learned=replace(model.fitted_.learned, target=target))
    model.save(path)
    return path


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    return save_classifier(tmp_path_factory.mktemp("classifier"))


@pytest.mark.filterwarnings("ignore::catspace.exceptions.CatspaceWarning")
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_a_crafted_file_is_refused_in_a_sentence_or_opens_within_bounds(kind, request, tmp_path):
    model = request.getfixturevalue(kind)
    counts, raw = run_campaign(model, X, n_cases=100, seed=0, folder=tmp_path)
    assert not raw
    assert counts["refused"] > 50  # most of what is changed matters
    assert counts["same"] > 10


def _with(found, place, value):
    *path, last = place
    for key in path:
        found = found[key]
    found[last] = value


HOSTILE = [
    (["parameters"], [], "parameters must be a mapping; got []"),
    (["parameters", "colour"], "red", "parameters names 'colour', which is not one of the est"),
    (["parameters", "device"], "meta", "(it has no memory)"),
    (["parameters", "n_jobs"], "x", "n_jobs must be an int other than 0, or None; got 'x'."),
    (["parameters", "dropout"], {"dict": [[[], 1]]}, "parameters['dropout'] must be a number"),
    (["schema", "names"], ["town"] * 5, "schema.names must be a list without repetitions"),
    (["encoder", "categorical"], ["town"], "encoder must be one of the columns ['town', 'size',"),
    (["encoder", "dates"], ["town"], "encoder must be one of the columns"),
    (["encoder", "first_days"], {"day": 1}, "encoder.first_days must be those of []"),
    (["encoder", "first_days"], {"day": 1e9}, "encoder.first_days"),
    (["encoder", "date_parts"], ["month", "elapsed"], "encoder must be one of the columns"),
    (["encoder", "date_formats"], {"town": "%d.%m.%Y"}, "encoder.date_formats must be forms of"),
    (["encoder", "date_zones"], {"town": "UTC"}, "encoder.date_zones must be zones of"),
    (["encoder", "date_zones"], {"day": "Nowhere/Else"}, "encoder.date_zones must be zones of"),
    (["encoder", "date_zones"], {"day": "\ud800"}, "encoder.date_zones"),
    (["encoder", "date_zones"], {"day": 3}, "encoder.date_zones"),
    (["encoder", "date_formats"], {"day": "%d"}, "encoder.date_formats must be forms of dates"),
    (["encoder", "scalings", "size", "scale"], 0, "encoder.scalings['size'].scale must be a num"),
    (["encoder", "bins", "width"], [2.0, 1.0], "encoder.bins['width'] must be a rising list"),
    (["encoder", "hashed", "user", "n_buckets"], 2, "vocabulary.4.values must be numbers of buc"),
    (["architecture", "n_rows"], [10**9] * 5, "architecture.n_rows must be [6, "),
    (["architecture", "dims"], [10**9] * 5, "the array 'embedding.0' must be float32 of shape ("),
    (["architecture", "dims"], [0] * 5, "architecture.dims[0] must be a whole number from 1 to"),
    (["architecture", "n_bins"], [10**9, 0], "architecture.n_bins[0] must be a whole number from"),
    (["architecture", "n_bins"], [50_000] * 2, "the array 'network.0.numbers.lower' must be floa"),
    (["architecture", "n_bins"], [50_000] * 9999, "architecture.n_bins must be a list of 2; got "),
    (["format_version"], 1, "architecture must be a mapping with 'n_numbers'"),
    (["architecture", "n_outputs"], 10**9, "the array 'target.centre' must be float64 of shape"),
    (["architecture", "hidden_layer_sizes"], [10**9], "the array 'network.0.layers.0.weight' m"),
    (["architecture", "hidden_layer_sizes"], [1] * 100_000, "must be a list of 0 to 1000 values"),
    (["architecture", "activation"], "exec", "architecture.activation must be one of identity"),
    (["architecture", "output_activation"], "tanh", "architecture.output_activation must be id"),
    (["architecture", "colour"], 1, "architecture must be a mapping without 'colour'"),
    (["n_networks"], 10**9, "n_networks must be at most "),
    (["n_networks"], 3, "the file must be one with an array 'network.2.numbers.lower'"),
    (["history"], [], "history must be a list of 1 to inf values; got []"),
    (["recipe", "smooth"], [1.0], "recipe.smooth must be a list of 5; got [1.0]"),
    (["recipe", "loss"], "log_loss", "recipe.loss must be one for the target; got 'log_loss'"),
    (["n_samples"], -1, "n_samples must be a whole number from 0 to"),
    (["n_samples"], 2**60, "n_samples must be a whole number from 0 to"),
    (["target", "is_vector"], "yes", "target.is_vector must be true or false; got 'yes'"),
    (["estimator"], "EmbeddingClassifier", "target must be that of the estimator"),
    (["estimator"], "os.system", "estimator must be one of EmbeddingRegressor"),
    (["backend"], "\ud800", "backend must be text of whole characters"),
    (["format_version"], "1", "its document does not say which format it has"),
]


@pytest.mark.parametrize(("place", "value", "sentence"), HOSTILE)
def test_a_document_that_is_out_of_form_says_where(regressor, tmp_path, place, value, sentence):
    found, tensors = take_apart(regressor)
    _with(found, place, value)
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(found, tensors))
    with bounded_memory(1 << 30), pytest.raises(ModelFileError) as caught:
        catspace.load(path)
    assert sentence in str(caught.value)
    assert "take models only from those you trust." in str(caught.value)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["target", "quantiles"], [0.9, 0.1], "target.quantiles must be a rising list"),
        (["target", "quantiles"], [], "target.quantiles must be a list of 1 to inf values; got []"),
        (["target", "quantiles"], [0.1, 1.5], "target.quantiles[1] must be a number from 0 to 1"),
        (["target", "quantiles"], [0.1, 0.5, 0.9], "target.quantiles must be a list of 2"),
        (["target", "shifts"], [0.5, -0.5], "target.shifts must be a list of 2 that never falls"),
        (["target", "shifts"], [0.5], "target.shifts must be a list of 2 that never falls"),
        (["architecture", "n_outputs"], 10**9, "target.quantiles must be a list of 1000000000"),
        (["architecture", "output_activation"], "identity", "output_activation must be rising"),
        (["recipe", "quantile"], [0.9, 0.1], "recipe.quantile must be a rising list"),
        (["recipe", "quantile"], "x", "recipe.quantile must be a number from 0 to 1; got 'x'"),
    ],
)
def test_quantiles_that_would_cross_are_refused(quantiles, tmp_path, place, value, sentence):
    test_a_document_that_is_out_of_form_says_where(quantiles, tmp_path, place, value, sentence)


def test_a_scale_that_would_turn_quantiles_round_is_refused(quantiles, tmp_path):
    found, tensors = take_apart(quantiles)
    tensors["target.scale"] = -np.abs(tensors["target.scale"])
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(found, tensors))
    with pytest.raises(ModelFileError, match=r"target\.scale must be at least 0 where quantiles"):
        catspace.load(path)


@pytest.mark.parametrize("prior", [np.zeros(2), np.array([np.nan]), np.zeros(1, np.float32)])
def test_what_pairs_are_compared_with_is_a_finite_number_for_each_output(tmp_path, prior):
    X = {"town": list("abcd") * 20, "day": list("xyz") * 26 + list("xy")}
    path = tmp_path / "m.catspace"
    model = catspace.EmbeddingRegressor(pairs=[("town", "day")], max_epochs=1, smooth=4)
    model.fit(X, np.arange(80.0)).save(path)
    found, tensors = take_apart(path)
    path.write_bytes(sign(found, {**tensors, "pairs.prior": prior}))
    with pytest.raises(ModelFileError, match=r"pairs\.prior"):
        catspace.load(path)
    del tensors["pairs.prior"]  # the first files of this format have none, and go on all the same
    path.write_bytes(sign(found, tensors))
    catspace.load(path).partial_fit({"town": ["e"] * 5, "day": list("xyzxy")}, np.arange(5.0))


def test_the_bins_of_an_earlier_format_are_those_that_the_file_holds(regressor, tmp_path):
    found, tensors = take_apart(regressor)
    found["format_version"] = 1
    found["architecture"] |= {"n_numbers": 10**9, "n_bins": 16}
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(found, tensors))
    message = r"numbers.(lower|slope)' must be float32 of shape \(1000000000, 16\)"
    with bounded_memory(1 << 30), pytest.raises(ModelFileError, match=message):
        catspace.load(path)


@pytest.mark.parametrize("dtype", ["<U9999999", "|O9", "<i8", "V100000000", "<M8[s]", "(9,9)<U3"])
def test_labels_are_not_blown_up_by_their_type(classifier, tmp_path, dtype):
    found, tensors = take_apart(classifier)
    found["target"]["dtype"] = dtype
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(found, tensors))
    with pytest.raises(ModelFileError, match=r"target\.dtype must be "):
        catspace.load(path)


@pytest.mark.parametrize(
    ("values", "compression", "sentence"),
    [
        (pa.array(np.zeros(10**7, dtype=np.int64)), "zstd", "is not what catspace writes"),
        (pa.nulls(3), None, "is not what catspace writes"),
        (pa.array(["a"]).dictionary_encode(), None, "is not what catspace writes"),
        (pa.array(["b", "a", "c"], pa.large_string()), None, "must be a rising list"),
        (pa.array(["a", "a", "b"], pa.large_string()), None, "must be a rising list"),
        (pa.array(["a", None, "b"], pa.large_string()), None, "must be a rising list"),
        (pa.array([1, 2, 3], pa.int64()), None, "vocabulary.0.values.text must be values of"),
    ],
)
def test_values_are_distinct_in_order_and_no_larger_than_their_bytes(
    regressor, tmp_path, values, compression, sentence
):
    found, tensors = take_apart(regressor)
    tensors["vocabulary.0.values.text:arrow"] = arrow_stream(values, compression)
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(found, tensors))
    assert path.stat().st_size < 50_000
    with pytest.raises(ModelFileError) as caught:
        catspace.Embeddings.load(path)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", '{"a": NaN}', "[]", "7"])
def test_a_document_that_cannot_be_read_is_a_sentence(regressor, tmp_path, text, monkeypatch):
    _, tensors = take_apart(regressor)
    monkeypatch.setattr(json, "dumps", lambda document: text)
    path = tmp_path / "crafted.catspace"
    path.write_bytes(sign(None, tensors))
    with pytest.raises(ModelFileError, match=r"is no model file that catspace wrote: its document"):
        catspace.load(path)


def test_the_description_has_the_fields_of_what_is_built():
    for record, built in (
        (model_form._ARCHITECTURE, Architecture),
        (model_form._RECIPE, Recipe),
        (model_form._EPOCH, Epoch),
        (model_form._SCALING, Scaling),
        (model_form._SCHEMA, Schema),
    ):
        known = {*record.fields, *record.optional} - {"n_rows"}
        assert known == {field.name for field in fields(built)} - {"n_codes"}
    assert model_form._ACTIVATION.options == tuple(ACTIVATIONS)
    assert model_form._RECIPE.fields["loss"].options == ("log_loss", *REGRESSION_LOSSES, CUSTOM)


def test_a_network_of_more_layers_than_a_file_may_have_is_refused_in_fit():
    with pytest.raises(ValueError, match=r"^hidden_layer_sizes may have 1000 layers at most; got"):
        EmbeddingRegressor(hidden_layer_sizes=(1,) * 1001).fit(X[["town"]], y)
