"""A model file that goes on learning from a new file."""

import json

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace.exceptions import CatspaceError, InputError
from catspace.storage import writing
from tests.commands.test_commands import run


def write_table(place, towns, n=60):
    frame = pd.DataFrame({"town": np.resize(list(towns), n), "size": np.arange(float(n)) % 7})
    frame.assign(y=frame["size"] + 0.5).to_csv(place, index=False)
    return place


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("update")
    write_table(folder / "monday.csv", "abcd")
    write_table(folder / "tuesday.csv", "ae", 20)
    run(
        "fit", folder / "monday.csv", "--target", "y", "--set", "max_epochs=2",
        "-o", folder / "monday.catspace",
    )  # fmt: skip
    return folder


@pytest.fixture
def model(folder, tmp_path):
    """Return the path of a model file that the test may write over."""
    place = tmp_path / "m.catspace"
    place.write_bytes((folder / "monday.catspace").read_bytes())
    return place


def test_a_model_is_updated_in_its_place(folder, model):
    output = run("update", model, folder / "tuesday.csv", "-o", model).output
    assert "Learned from 20 more rows" in output
    assert "New categories: 1 of town." in output
    updated = catspace.load(model)
    assert updated.embeddings_["town"].categories == ["a", "b", "c", "d", "e"]
    expected = catspace.load(folder / "monday.catspace").partial_fit(folder / "tuesday.csv", "y")
    table = pd.read_csv(folder / "tuesday.csv").drop(columns="y")
    np.testing.assert_array_equal(updated.predict(table), expected.predict(table))


def test_for_a_script_it_prints_json_alone(folder, model, tmp_path):
    out, before = tmp_path / "other.catspace", model.read_bytes()
    done = run("update", model, folder / "tuesday.csv", "-o", out, "--json")
    assert json.loads(done.stdout) == {
        "model": str(out),
        "rows": 20,
        "new_categories": {"town": 1},
    }
    assert model.read_bytes() == before
    assert len(catspace.load(out).embeddings_["town"]) == 5


def test_rows_from_standard_input_and_a_target_that_is_named(folder, model):
    text = (folder / "tuesday.csv").read_text().replace("town,size,y", "town,size,sold")
    output = run("update", model, "-", "--target", "sold", "-o", model, input=text).output
    assert "Learned from 20 more rows" in output


def test_rows_without_a_target_are_left_out_and_told_of(folder, model, tmp_path):
    frame = pd.read_csv(folder / "tuesday.csv")
    frame.loc[:4, "y"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    output = run("update", model, tmp_path / "holes.csv", "-o", model).output
    assert "5 rows without y are left out." in output
    assert "Learned from 15 more rows" in output


def wrong_files(folder):
    frame = pd.read_csv(folder / "tuesday.csv")
    return {
        "other columns": (frame.rename(columns={"size": "width"}), "now missing:\n- size"),
        "no target": (frame.drop(columns="y"), "has no column 'y', which is the target"),
        "text for numbers": (frame.assign(size="large"), "Column 'size'"),
        "no rows": (frame[:0], "has no rows with a target"),
        "text for the target": (frame.assign(y="much"), "target"),
    }


@pytest.mark.parametrize(
    "wrong", ["other columns", "no target", "text for numbers", "no rows", "text for the target"]
)
def test_a_file_that_does_not_fit_is_a_sentence_and_the_model_stays(folder, model, tmp_path, wrong):
    frame, message = wrong_files(folder)[wrong]
    frame.to_csv(tmp_path / "wrong.csv", index=False)
    before = model.read_bytes()
    with pytest.raises(InputError, match=message):
        run("update", model, tmp_path / "wrong.csv", "-o", model)
    assert model.read_bytes() == before


def test_what_is_read_as_a_table_is_not_written_over(folder, model):
    source = folder / "tuesday.csv"
    with pytest.raises(CatspaceError, match="is what this command reads"):
        run("update", model, source, "-o", source)
    with pytest.raises(InputError, match="There is no file"):
        run("update", model, folder / "nowhere.csv", "-o", model)


def test_a_model_that_cannot_be_saved_leaves_the_old_one_whole(folder, model, monkeypatch):
    before = model.read_bytes()

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "replace", fail)
    with pytest.raises((CatspaceError, OSError)):
        run("update", model, folder / "tuesday.csv", "-o", model)
    assert model.read_bytes() == before


def test_an_encoder_can_be_updated_too(folder, tmp_path):
    frame = pd.read_csv(folder / "monday.csv")
    encoder = catspace.EmbeddingEncoder(max_epochs=1, smooth=4, random_state=0).fit(frame, "y")
    encoder.save(tmp_path / "e.catspace")
    run("update", tmp_path / "e.catspace", folder / "tuesday.csv", "-o", tmp_path / "e.catspace")
    assert len(catspace.load(tmp_path / "e.catspace").embeddings_["town"]) == 5


def test_a_model_that_does_not_know_its_target_asks_for_it(folder, tmp_path):
    frame = pd.read_csv(folder / "monday.csv")
    model = catspace.EmbeddingRegressor(max_epochs=1, smooth=4, random_state=0)
    model.fit(frame[["town", "size"]], frame["y"]).save(tmp_path / "m.catspace")
    with pytest.raises(InputError, match="--target names its column"):
        run(
            "update", tmp_path / "m.catspace", folder / "tuesday.csv", "-o", tmp_path / "n.catspace"
        )
