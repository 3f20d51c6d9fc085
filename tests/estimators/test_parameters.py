"""Parameters are declared once: signature, docstring and checks agree."""

import inspect
import pydoc
import re
from dataclasses import fields
from typing import Literal, get_args, get_type_hints

import numpy as np
import pytest

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor
from catspace.data.dates import DATE_PARTS
from catspace.data.target import TARGET_TRANSFORMS
from catspace.estimators.parameters import describe_type, pack_parameter, unpack_parameter
from catspace.estimators.shared import Activation, DatePart, NumberParameters
from catspace.exceptions import InputError
from catspace.model.layers import ACTIVATIONS
from catspace.model.recipe import REGRESSION_LOSSES

ESTIMATORS = [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder]


def section(kind, title):
    """Return the entries of a section of a docstring: name, type and text."""
    _, text = inspect.getdoc(kind).split(f"{title}\n{'-' * len(title)}\n")
    text = re.split(r"\n\n\S", text)[0]
    parts = re.split(r"^(\w.*?) : (.*)$", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_docstring_lists_every_parameter_of_the_signature_with_its_default(kind):
    documented = section(kind, "Parameters")
    signature = inspect.signature(kind)
    assert [name for name, _, _ in documented] == list(signature.parameters)
    for name, type_, text in documented:
        default = signature.parameters[name].default
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        assert type_.endswith(f", default={shown}")
        assert text.strip()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_default_is_of_the_type_that_the_docstring_names(kind):
    for name, type_, _ in section(kind, "Parameters"):
        default = inspect.signature(kind).parameters[name].default
        allowed = type_.rsplit(", default=")[0]
        word = "None" if default is None else type(default).__name__
        assert word in allowed or f'"{default}"' in allowed


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_help_is_the_manual(kind):
    manual = pydoc.plain(pydoc.render_doc(kind))
    for field in fields(kind):
        assert f"{field.name} : " in manual
    assert "{parameters}" not in manual


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_docstring_lists_every_attribute_that_ends_in_an_underscore(kind, shops):
    X, y = shops
    y = y if kind is EmbeddingRegressor else np.where(y > 2, "high", "low")
    model = kind(max_epochs=1, random_state=0).fit(X, y)
    documented = {one for name, _, _ in section(kind, "Attributes") for one in name.split(", ")}
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    assert {name for name in names if hasattr(model, name)} == documented


@pytest.mark.parametrize(
    ("hint", "options"),
    [
        (Activation, ACTIVATIONS),
        (DatePart, DATE_PARTS),
        (get_args(get_type_hints(NumberParameters)["loss"])[0], ("auto", *REGRESSION_LOSSES)),
    ],
)
def test_the_choices_of_the_types_are_those_of_the_code(hint, options):
    assert set(get_args(hint)) == set(options)


def test_the_transforms_of_the_types_are_those_of_the_code():
    choices, _ = get_args(get_type_hints(NumberParameters)["target_transform"])
    assert set(get_args(choices)) == set(TARGET_TRANSFORMS)


def test_types_are_told_in_the_words_of_scikit_learn():
    assert describe_type(Literal["a", "b"]) == '{"a", "b"}'
    assert describe_type(float | Literal["auto"]) == 'float or "auto"'
    assert describe_type(dict[str, int] | None) == "dict of str to int or None"
    assert describe_type(list[str]) == "list of str"


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.5, "x", (1, 2), [1, "a"], {"a": 1, 2: (3,)}, {"tuple": [1]}]
)
def test_a_parameter_comes_back_from_a_file_as_it_was(value):
    again = unpack_parameter(pack_parameter("p", value))
    assert again == value
    assert type(again) is type(value)


def test_a_parameter_that_no_file_can_keep_says_so():
    with pytest.raises(InputError, match=r"^The parameter p=<object object"):
        pack_parameter("p", object())
