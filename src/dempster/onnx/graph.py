"""Graphs of ONNX operators, built by formulas that read as those of NumPy do.

A `Value` is what an operator gives. Rows are objects, and reductions over an axis keep it with length one, so that
values of (n, 1) and (n, f) go together. Numbers and arrays beside a value become constants of its type.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

__all__ = [
    *("OPSET", "Graph", "GraphOperations", "Value", "concatenated", "maximum", "minimum", "take", "where"),
    *("centred", "squared_distances", "squares_of", "masses_of_known", "softplus"),
]

OPSET = 18  # the first in which all reductions take their axes alike; runtimes know it since 2023
_IR_VERSION = 8  # of the files that go with it
_NEGLIGIBLE = 58 * math.log(2)  # powers of e from which on nothing is added, as in affinity.c
_MAX_COLUMNS = 32  # beyond, a product of matrices takes the place of differences, attribute by attribute
_DOUBLE, _INDEX, _TRUTH = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


class Value:
    """What an operator of a graph gives.

    Attributes
    ----------
    graph : Graph
    name : str
    dtype : numpy.dtype
    """

    __array_ufunc__ = None  # arrays leave operators between them and a value to the value

    def __init__(self, graph: Graph, name: str, dtype: np.dtype):
        self.graph, self.name, self.dtype = graph, name, dtype

    # ---- arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Value:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", other)

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", other)

    def __matmul__(self, other: Any) -> Value:
        return self._with("MatMul", other)

    def __pow__(self, power: float) -> Value:
        return self if power == 1 else self._with("Pow", power)

    def __radd__(self, other: Any) -> Value:
        return self + other

    def __rmul__(self, other: Any) -> Value:
        return self * other

    def __rsub__(self, other: Any) -> Value:
        return self.graph.node("Sub", self.like(other), self)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.node("Div", self.like(other), self)

    def __neg__(self) -> Value:
        return self.graph.node("Neg", self)

    def __le__(self, other: Any) -> Value:
        return self._with("LessOrEqual", other, _TRUTH)

    def __lt__(self, other: Any) -> Value:
        return self._with("Less", other, _TRUTH)

    def __gt__(self, other: Any) -> Value:
        return self._with("Greater", other, _TRUTH)

    def __or__(self, other: Value) -> Value:
        return self.graph.node("Or", self, other)

    def equals(self, other: Any) -> Value:
        """Whether they are the same, cell by cell."""
        return self._with("Equal", other, _TRUTH)

    def like(self, other: Any) -> Value:
        """The other as a value of the same type."""
        return other if isinstance(other, Value) else self.graph.constant(other, self.dtype)

    def _with(self, kind: str, other: Any, dtype: np.dtype | None = None) -> Value:
        return self.graph.node(kind, self, self.like(other), dtype=dtype)

    # ---- functions --------------------------------------------------------------------------------------------------

    def exp(self) -> Value:
        return self.graph.node("Exp", self)

    def log(self) -> Value:
        return self.graph.node("Log", self)

    def sqrt(self) -> Value:
        return self.graph.node("Sqrt", self)

    def abs(self) -> Value:
        return self.graph.node("Abs", self)

    def relu(self) -> Value:
        return self.graph.node("Relu", self)

    def sigmoid(self) -> Value:
        return 1 / ((-self).exp() + 1)

    def softmax(self) -> Value:
        """Divide exponentials of the columns by their sum; runtimes may compute their own in single precision."""
        powers = (self - self.max()).exp()
        return powers / powers.sum()

    def cumsum(self, *, exclusive: bool = False) -> Value:
        """Sums of the columns up to each, itself included unless ``exclusive``."""
        return self.graph.node("CumSum", self, self.graph.constant(1, _INDEX), exclusive=int(exclusive))

    def astype(self, dtype: Any) -> Value:
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        return self.graph.node("Cast", self, dtype=wanted, to=self.graph.element_type(wanted))

    def double(self) -> Value:
        """In double precision, for steps in which digits would be lost."""
        return self.astype(_DOUBLE)

    # ---- rows and columns -------------------------------------------------------------------------------------------

    def sum(self, axis: int = 1) -> Value:
        return self._reduced("ReduceSum", axis)

    def max(self, axis: int = 1) -> Value:
        return self._reduced("ReduceMax", axis)

    def min(self, axis: int = 1) -> Value:
        return self._reduced("ReduceMin", axis)

    def _reduced(self, kind: str, axis: int) -> Value:
        return self.graph.node(kind, self, self.graph.constant([axis], _INDEX), keepdims=1)

    def argmax(self) -> Value:
        """(n,) first column of the largest number of each row."""
        return self.graph.node("ArgMax", self, dtype=_INDEX, axis=1, keepdims=0)

    def argmin(self) -> Value:
        """(n,) first column of the smallest number of each row."""
        return self.graph.node("ArgMin", self, dtype=_INDEX, axis=1, keepdims=0)

    def smallest(self, k: int) -> tuple[Value, Value]:
        """(n, k) smallest numbers of each row, in order, and their columns; of equal ones the first.

        One row is added and left out again: onnxruntime 1.30 ends the whole process where there is none.
        """
        count, dtypes = self.graph.constant([k], _INDEX), [self.dtype, _INDEX]
        more = self.graph.node("Pad", self, self.graph.constant([0, 0, 1, 0], _INDEX))
        values, columns = self.graph.nodes_of("TopK", more, count, dtypes=dtypes, axis=1, largest=0, sorted=1)
        return values._without_last_row(), columns._without_last_row()

    def _without_last_row(self) -> Value:
        return self.graph.node("Slice", self, *(self.graph.constant([number], _INDEX) for number in (0, -1, 0)))

    def columns(self, which: Any, axis: int = 1) -> Value:
        """Some of the columns, in this order."""
        return self.graph.node("Gather", self, self.graph.constant(which, _INDEX), axis=axis)

    def at(self, places: Value) -> Value:
        """(n, 1) the number of each row in one column, of (n, 1) columns."""
        return self.graph.node("GatherElements", self, places, axis=1)

    def split(self, n_columns: int) -> tuple[Value, ...]:
        """(n, 1) the columns one by one."""
        if n_columns == 1:
            return (self,)
        return self.graph.nodes_of("Split", self, dtypes=[self.dtype] * n_columns, axis=1, num_outputs=n_columns)

    def reshape(self, *shape: int) -> Value:
        """In another shape; 0 keeps a length, -1 is what follows."""
        return self.graph.node("Reshape", self, self.graph.constant(shape, _INDEX))

    def flat(self) -> Value:
        """(n,) the only column."""
        return self.reshape(-1)


def where(condition: Value, yes: Any, no: Any) -> Value:
    """One or the other, cell by cell; at least one of them is a value."""
    known = yes if isinstance(yes, Value) else no
    return known.graph.node("Where", condition, known.like(yes), known.like(no), dtype=known.dtype)


def maximum(value: Value, other: Any) -> Value:
    return value.graph.node("Max", value, value.like(other))


def minimum(value: Value, other: Any) -> Value:
    return value.graph.node("Min", value, value.like(other))


def concatenated(*values: Value, axis: int = 1) -> Value:
    """Columns beside each other."""
    return values[0] if len(values) == 1 else values[0].graph.node("Concat", *values, axis=axis)


def take(table: np.ndarray, rows: Value, dtype: Any) -> Value:
    """Rows of a constant table."""
    return rows.graph.node("Gather", rows.graph.constant(table, dtype), rows, dtype=np.dtype(dtype), axis=0)


class GraphOperations:
    """The array namespace of `dempster.cluster._expressions` that records operators, in the type of a value."""

    minimum, maximum = staticmethod(minimum), staticmethod(maximum)
    power, min, cumsum = staticmethod(Value.__pow__), staticmethod(Value.min), staticmethod(Value.cumsum)
    smallest, at = staticmethod(Value.smallest), staticmethod(Value.at)

    def __init__(self, value: Value):
        self.graph, self.dtype = value.graph, value.dtype

    def constant(self, numbers: Any) -> Value:
        return self.graph.constant(numbers, self.dtype)

    def table(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def cast(self, x: Value) -> Value:
        return x.astype(self.dtype)

    def where(self, condition: Value, yes: Any, no: Any) -> Value:
        return where(condition, yes if isinstance(yes, Value) else self.constant(yes), no)

    def sum(self, x: Value) -> Value:
        return (x.astype(_INDEX) if x.dtype == _TRUTH else x).sum()

    def largest(self, x: Value) -> tuple[Value, Value]:
        return x.max(), x.argmax().reshape(-1, 1)

    def rows_of(self, table: np.ndarray, rows: Value) -> Value:
        return take(table, rows.flat(), table.dtype)

    def cells_of(self, table: np.ndarray, places: Value) -> Value:
        return take(table, places, table.dtype)

    def column(self, x: Value, k: int) -> Value:
        return x.columns([k])

    def scatter(self, width: int, *cells: tuple[Any, Value]) -> Value:
        unit = np.eye(width)
        rows = [take(unit, k.flat(), self.dtype) if isinstance(k, Value) else unit[k] for k, _ in cells]
        return reduce(add, [value * row for row, (_, value) in zip(rows, cells, strict=True)])

    def similarity(self, squares: Value, rates: Value, scales: Value) -> Value:
        powers = squares * rates / scales
        return where(powers < _NEGLIGIBLE, (-powers).exp(), 0.0)

    def holds_anywhere(self, x: Value) -> bool:
        return True


# ---- formulas that several kinds of models have in common -----------------------------------------------------------


def centred(X: Value, centre: Any, unit: Any = 1.0) -> Value:
    """(X - centre) / unit. Numbers far from zero lose their digits in this difference, unless it is taken in double
    precision."""
    shifted = X.double() - np.asarray(centre, dtype=float)
    return (shifted if np.all(np.asarray(unit) == 1) else shifted / np.asarray(unit, dtype=float)).astype(X.dtype)


def squared_distances(X: Value, places: np.ndarray) -> Value:
    """(n, r) squared Euclidean distances to r places: exactly zero for those who are at one, if ``places`` have the
    type of X and at most 32 attributes."""
    middle = places.mean(axis=0, dtype=float)
    return squares_of(centred(X, middle), (places.astype(float) - middle).astype(X.dtype))


def squares_of(rows: Value, places: np.ndarray) -> Value:
    """(n, r) squared distances between rows and places near zero."""
    p = places.shape[1]
    if p <= _MAX_COLUMNS:
        gaps = [column - places[:, d] for d, column in enumerate(rows.split(p))]
        return reduce(add, [gap * gap for gap in gaps])
    squares = np.square(places, dtype=float).sum(axis=1)
    return ((rows * rows).sum() - 2 * (rows @ places.T) + squares).relu()


def masses_of_known(masses: Value, X: Value, squares: Value, objects: np.ndarray, known: np.ndarray) -> Value:
    """The same, but that those who are one of some objects again have its masses.

    Parameters
    ----------
    masses, X : Value
    squares : Value
        Distances to the objects: only the nearest one can be the same.
    objects : (r, p) array
    known : (r, f) array
        Their masses.
    """
    nearest = squares.argmin()
    same = take(objects, nearest, X.dtype).equals(X).astype(X.dtype).min() > 0.5
    return where(same, take(known, nearest, masses.dtype), masses)


def softplus(x: Value) -> Value:
    """log(1 + exp(x)), for numbers of any size."""
    return x.relu() + ((-x.abs()).exp() + 1).log()


# ---- the graph ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operator:
    """An operator with the names of what it takes and gives."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Body:
    """What a loop repeats: from states to the question whether to go on, and the next states."""

    operators: list[Operator]
    states: list[Value]
    results: list[Value]


class Graph:
    """Operators from ``X``, n objects, to what a model says of them.

    Parameters
    ----------
    shape : tuple of int
        Of an object: the number of its attributes, if it is a row of a table.
    dtype : numpy.dtype
        Of X and of the results.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.onnx.graph import Graph
    >>> graph = Graph((3,), np.dtype("float32"))
    >>> doubled = graph.X * 2 + [1, 0, 0]
    >>> [operator.kind for operator in graph.operators]
    ['Mul', 'Add']
    >>> doubled.dtype
    dtype('float32')
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape, self.dtype = shape, dtype
        self.X = Value(self, "X", dtype)
        self.operators: list[Operator | Any] = []  # or what ONNX calls a node
        self._tensors: list[Any] = []
        self._count = 0
        self._constants: dict[tuple[str, tuple[int, ...], bytes], tuple[str, np.ndarray]] = {}

    def constant(self, values: Any, dtype: np.dtype) -> Value:
        """Numbers that are part of the model; the same ones are kept once."""
        array = np.array(values, dtype=dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        name, _ = self._constants.setdefault(key, (f"constant_{len(self._constants)}", array))
        return Value(self, name, array.dtype)

    def node(self, kind: str, *inputs: Value, dtype: np.dtype | None = None, **attributes: Any) -> Value:
        """One more operator; its result has the type of its first input unless it is said to have another."""
        return self.nodes_of(kind, *inputs, dtypes=[inputs[0].dtype if dtype is None else dtype], **attributes)[0]

    def nodes_of(self, kind: str, *inputs: Value, dtypes: list[np.dtype], **attributes: Any) -> tuple[Value, ...]:
        """One more operator, with several results."""
        first = self._fresh(kind)
        names = [first, *(f"{first}_{k}" for k in range(1, len(dtypes)))]
        self.operators.append(Operator(kind, [value.name for value in inputs], names, attributes))
        return tuple(Value(self, name, dtype) for name, dtype in zip(names, dtypes, strict=True))

    def loop(self, step: Callable[..., tuple[Value, ...]], states: tuple[Value, ...], most: int) -> tuple[Value, ...]:
        """What becomes of states: ``step`` gives from them whether to go on, and the next ones."""
        outside, self.operators = self.operators, []
        inside = [Value(self, self._fresh("state"), state.dtype) for state in states]
        results = [self.node("Identity", result) for result in step(*inside)]
        body, self.operators = Body(self.operators, inside, results), outside
        limits = self.constant(most, _INDEX), self.constant(True, _TRUTH)
        return self.nodes_of("Loop", *limits, *states, dtypes=[state.dtype for state in states], body=body)

    def inserted(self, model: Any, inputs: Value) -> Value:
        """What another ONNX model, of the same version, with one input and one output, makes of a value."""
        from onnx import compose

        graph = compose.add_prefix_graph(model.graph, f"{self._fresh('network')}/")
        self.operators.append(Operator("Identity", [inputs.name], [graph.input[0].name], {}))
        self.operators += graph.node
        self._tensors += graph.initializer
        return Value(self, graph.output[0].name, inputs.dtype)

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"

    @staticmethod
    def element_type(dtype: np.dtype) -> int:
        """The number by which ONNX knows a type."""
        from onnx import helper

        return int(helper.np_dtype_to_tensor_dtype(dtype))

    def model(self, outputs: dict[str, tuple[Value, int | None]], told: dict[str, str], about: str) -> Any:
        """The whole as an ``onnx.ModelProto``.

        Parameters
        ----------
        outputs : dict
            Each result by its name, with the number of its columns, None if it has one number for each row.
        told : dict
            Metadata.
        about : str
            What the model is, in words.
        """
        from onnx import checker, helper, numpy_helper

        from dempster import __version__

        nodes = [self._proto(operator) for operator in self.operators]
        nodes += [helper.make_node("Identity", [value.name], [name], name=name) for name, (value, _) in outputs.items()]
        infos = [
            helper.make_tensor_value_info(
                name, self.element_type(value.dtype), ["n"] if width is None else ["n", width]
            )
            for name, (value, width) in outputs.items()
        ]
        X = helper.make_tensor_value_info("X", self.element_type(self.dtype), ["n", *self.shape])
        constants = [numpy_helper.from_array(array, name) for name, array in self._constants.values()]
        model = helper.make_model(
            helper.make_graph(nodes, "masses", [X], infos, constants + self._tensors, doc_string=about),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
            producer_name="dempster",
            producer_version=__version__,
            doc_string=about,
        )
        helper.set_model_props(model, told)
        checker.check_model(model, full_check=True)
        return model

    def _proto(self, operator: Operator | Any) -> Any:
        from onnx import helper

        if not isinstance(operator, Operator):
            return operator
        attributes = dict(operator.attributes)
        if isinstance(attributes.get("body"), Body):
            attributes["body"] = self._body(attributes["body"])
        return helper.make_node(operator.kind, operator.inputs, operator.outputs, operator.outputs[0], **attributes)

    def _body(self, body: Body) -> Any:
        """A loop also counts its steps and is told whether to go on, which ours need not know."""
        from onnx import helper

        def told(values: list[Value]) -> list[Any]:
            return [helper.make_tensor_value_info(v.name, self.element_type(v.dtype), None) for v in values]

        counted = [Value(self, self._fresh("step"), _INDEX), Value(self, self._fresh("going_on"), _TRUTH)]
        numbers = [helper.make_tensor_value_info(v.name, self.element_type(v.dtype), []) for v in counted]
        nodes = [self._proto(operator) for operator in body.operators]
        return helper.make_graph(nodes, "step", numbers + told(body.states), told(body.results))
