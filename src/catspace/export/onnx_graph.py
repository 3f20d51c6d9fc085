"""An ONNX graph under construction."""

import json
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from catspace.exceptions import CatspaceError, InputError

try:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
except ImportError:
    raise CatspaceError(
        'Exporting to ONNX needs the package onnx. Install it with: pip install "catspace[onnx]"'
    ) from None

__all__ = ["Graph", "ModelProto", "TensorProto", "numpy_helper"]

# Of onnx 1.15: the first whose lookup takes doubles, and so the one that most runtimes can read.
_IR_VERSION = 9
_OPERATORS = {"": 20, "ai.onnx.ml": 4}

# What operators give besides, which has to have a name.
_FURTHER = {"TopK": ("places",)}


class Graph:
    """A graph to which operators are added; names of their results come out.

    Parameters
    ----------
    columns : iterable of str
        The names of the inputs, which no value inside the graph may have.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []
        self._inputs: dict[str, ValueInfoProto] = {}
        self._outputs: list[ValueInfoProto] = []
        self._records: dict[str, dict[str, Any]] = {}
        self._prefix = "/"
        while any(name.startswith(self._prefix) for name in columns):
            self._prefix += "/"

    def add_input(self, name: str, dtype: Any, *, holds: str, missing: Any = "NaN") -> None:
        """Add a column of the table, and note what it holds and what stands for missing."""
        type_ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs[name] = helper.make_tensor_value_info(name, type_, ["rows", 1])
        self._records[name] = {
            "name": name,
            "type": TensorProto.DataType.Name(type_).lower(),
            "holds": holds,
            "missing": missing,
        }

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add an operator on values by name and on constants; return the name of its result.

        Of several results the first.
        """
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        result = f"{self._prefix}{operator}_{len(self._nodes)}"
        results = [result, *(f"{result}_{further}" for further in _FURTHER.get(operator, ()))]
        domain = "ai.onnx.ml" if operator == "LabelEncoder" else ""
        self._nodes.append(
            helper.make_node(operator, names, results, result, domain=domain, **attributes)
        )
        return result

    def add_output(self, name: str, value: str, dtype: Any, *width: int) -> None:
        """Let a value leave the graph under a name of its own."""
        self._nodes.append(helper.make_node("Identity", [value], [name], f"{self._prefix}{name}"))
        type_ = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._outputs.append(helper.make_tensor_value_info(name, type_, ["rows", *width]))

    def to_model(
        self, summary: str, columns: Sequence[str], metadata: dict[str, Any]
    ) -> ModelProto:
        """Return the graph, with its inputs in the order of the table's columns."""
        for name in (output.name for output in self._outputs):
            if name in columns:
                raise InputError(
                    f"Column {name!r} has the name of what the ONNX graph returns.",
                    hint="rename the column before fitting.",
                )
        inputs = [self._inputs[name] for name in columns]
        made = helper.make_model(
            helper.make_graph(self._nodes, "catspace", inputs, self._outputs, self._constants),
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid(*item) for item in _OPERATORS.items()],
            producer_name="catspace",
            producer_version=version("catspace"),
            doc_string=f"{summary} The metadata says what each input holds, and which value of it "
            "stands for a missing one.",
        )
        records = [self._records[name] for name in columns]
        entries = {"inputs": records, **metadata}
        helper.set_model_props(
            made,
            {
                "catspace_version": version("catspace"),
                **{key: json.dumps(entry, ensure_ascii=False) for key, entry in entries.items()},
            },
        )
        return made

    def _constant(self, value: Any) -> str:
        name = f"{self._prefix}constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name
