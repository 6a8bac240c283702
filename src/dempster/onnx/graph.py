"""ONNX graphs that are built from expressions similar to NumPy code.

A `Value` is the output of an operator, usually with one row per object. Reductions keep the reduced
axis with length one, so that values of shape (n, 1) and (n, f) can be combined. Numbers and arrays
in an expression become constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dempster.optimize.projection import SHARE_TOLERANCE

# The first version of the operators in which all reductions get their axes in the same way. It was
# released in 2023.
OPSET = 18
_IR_VERSION = 8  # version of the file format for this version of the operators
# exp(-x) is replaced by zero for larger x, like in affinity.c
_NEGLIGIBLE = 58 * math.log(2)
# With more columns, distances are computed by matrix products.
_MAX_COLUMNS_FOR_DIFFERENCES = 32
_DOUBLE = np.dtype(np.float64)
_INDEX = np.dtype(np.int64)
_TRUTH = np.dtype(np.bool_)


def _unary(kind: str) -> Callable[[Any], Value]:
    return lambda value: value.graph.node(kind, value)


def _binary(kind: str, dtype: np.dtype | None = None) -> Callable[[Any, Any], Value]:
    return lambda value, other: value.graph.node(
        kind, value, value.like(other), dtype=dtype
    )


def _reduction(kind: str) -> Callable[..., Value]:
    def reduce_axis(value: Value, axis: int = 1) -> Value:
        return value.graph.node(
            kind, value, value.graph.constant([axis], _INDEX), keepdims=1
        )

    return reduce_axis


def _place(kind: str) -> Callable[[Value], Value]:
    return lambda value: value.graph.node(kind, value, dtype=_INDEX, axis=1, keepdims=0)


class Value:
    """Output of an operator in a `Graph`."""

    # With this setting, NumPy arrays use the binary operators of this class.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str, dtype: np.dtype):
        self.graph = graph
        self.name = name
        self.dtype = dtype

    # ---- arithmetic ------------------------------------------------------------------------------

    __add__ = __radd__ = _binary("Add")
    __mul__ = __rmul__ = _binary("Mul")
    __sub__ = _binary("Sub")
    __truediv__ = _binary("Div")
    __matmul__ = _binary("MatMul")
    __or__ = _binary("Or")
    __le__ = _binary("LessOrEqual", _TRUTH)
    __lt__ = _binary("Less", _TRUTH)
    __gt__ = _binary("Greater", _TRUTH)
    __neg__ = _unary("Neg")

    def __pow__(self, power: float) -> Value:
        if power == 1:
            return self
        return self.graph.node("Pow", self, self.like(power))

    def __rsub__(self, other: Any) -> Value:
        return self.like(other) - self

    def __rtruediv__(self, other: Any) -> Value:
        return self.like(other) / self

    def like(self, other: Any) -> Value:
        """Convert a number or an array to a constant with the type of this value."""
        if isinstance(other, Value):
            return other
        return self.graph.constant(other, self.dtype)

    # ---- functions -------------------------------------------------------------------------------

    exp = _unary("Exp")
    log = _unary("Log")
    sqrt = _unary("Sqrt")
    abs = _unary("Abs")
    relu = _unary("Relu")

    def sigmoid(self) -> Value:
        return 1 / ((-self).exp() + 1)

    def softmax(self) -> Value:
        """Compute the softmax by its definition, because ONNX may use single precision."""
        powers = (self - self.max()).exp()
        return powers / powers.sum()

    def cumsum(self, *, exclusive: bool = False) -> Value:
        """Return the cumulative sums over the columns.

        If ``exclusive`` is True, they exclude the current column.
        """
        return self.graph.node(
            "CumSum", self, self.graph.constant(1, _INDEX), exclusive=int(exclusive)
        )

    def astype(self, dtype: Any) -> Value:
        target = np.dtype(dtype)
        if target == self.dtype:
            return self
        return self.graph.node("Cast", self, dtype=target, to=_element_type(target))

    def double(self) -> Value:
        return self.astype(_DOUBLE)

    # ---- rows and columns ------------------------------------------------------------------------

    sum = _reduction("ReduceSum")
    max = _reduction("ReduceMax")
    min = _reduction("ReduceMin")

    # for each row the index of the first column with the largest or smallest value, shape (n,)
    argmax = _place("ArgMax")
    argmin = _place("ArgMin")

    def smallest(self, k: int) -> tuple[Value, Value]:
        """Return the k smallest values of each row in increasing order, and their columns.

        Both have shape (n, k). A row is added before the operator and removed after it, because
        onnxruntime 1.30 crashes on an empty table.
        """
        graph = self.graph
        count = graph.constant([k], _INDEX)
        dtypes = [self.dtype, _INDEX]
        more = graph.node("Pad", self, graph.constant([0, 0, 1, 0], _INDEX))
        values, columns = graph.multi_node(
            "TopK", more, count, dtypes=dtypes, axis=1, largest=0, sorted=1
        )
        return values._without_last_row(), columns._without_last_row()

    def _without_last_row(self) -> Value:
        return self.graph.node(
            "Slice",
            self,
            *(self.graph.constant([number], _INDEX) for number in (0, -1, 0)),
        )

    def columns(self, which: Any, axis: int = 1) -> Value:
        return self.graph.node(
            "Gather", self, self.graph.constant(which, _INDEX), axis=axis
        )

    def at(self, places: Value) -> Value:
        """Return one value from each row, given the column indices ``places`` of shape (n, 1)."""
        return self.graph.node("GatherElements", self, places, axis=1)

    def split(self, n_columns: int) -> tuple[Value, ...]:
        """Return the columns as separate values of shape (n, 1)."""
        if n_columns == 1:
            return (self,)
        return self.graph.multi_node(
            "Split",
            self,
            dtypes=[self.dtype] * n_columns,
            axis=1,
            num_outputs=n_columns,
        )

    def reshape(self, *shape: int) -> Value:
        """Change the shape; 0 keeps the length of an axis, and -1 infers it from the others."""
        return self.graph.node("Reshape", self, self.graph.constant(shape, _INDEX))

    def describe(self, shape: list[int | str] | None) -> Any:
        """Return the name, type and shape as an ``onnx.ValueInfoProto``."""
        from onnx import helper

        return helper.make_tensor_value_info(
            self.name, _element_type(self.dtype), shape
        )


def _element_type(dtype: np.dtype) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(dtype))


def where(condition: Value, yes: Any, no: Any) -> Value:
    """Return ``yes`` where the condition is True and ``no`` elsewhere.

    At least one of them must be a `Value`.
    """
    value = yes if isinstance(yes, Value) else no
    return value.graph.node(
        "Where", condition, value.like(yes), value.like(no), dtype=value.dtype
    )


def maximum(value: Value, other: Any) -> Value:
    """Return the larger of two values."""
    return value.graph.node("Max", value, value.like(other))


def minimum(value: Value, other: Any) -> Value:
    """Return the smaller of two values."""
    return value.graph.node("Min", value, value.like(other))


def concatenate(*values: Value, axis: int = 1) -> Value:
    """Return the values beside each other."""
    return values[0].graph.node("Concat", *values, axis=axis)


def take(table: np.ndarray, rows: Value, dtype: Any = None) -> Value:
    """Return the rows of a constant table with the given row numbers.

    By default they have the type of the table.
    """
    constant = rows.graph.constant(table, dtype or table.dtype)
    return rows.graph.node("Gather", constant, rows, axis=0)


class GraphOperations:
    """Operations on values for the formulas in `dempster.cluster._expressions`."""

    minimum = staticmethod(minimum)
    maximum = staticmethod(maximum)
    power = staticmethod(Value.__pow__)
    min = staticmethod(Value.min)
    cumsum = staticmethod(Value.cumsum)
    smallest = staticmethod(Value.smallest)
    at = staticmethod(Value.at)
    log = staticmethod(Value.log)

    def __init__(self, value: Value):
        self.graph = value.graph
        self.dtype = value.dtype

    def constant(self, numbers: Any) -> Value:
        return self.graph.constant(numbers, self.dtype)

    def table(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def where(self, condition: Value, yes: Any, no: Any) -> Value:
        if not isinstance(yes, Value):
            yes = self.constant(yes)
        return where(condition, yes, no)

    def sum(self, x: Value) -> Value:
        if x.dtype == _TRUTH:
            x = x.astype(_INDEX)
        return x.sum()

    def largest(self, x: Value) -> tuple[Value, Value]:
        return x.max(), x.argmax().reshape(-1, 1)

    def rows_of(self, table: np.ndarray, rows: Value) -> Value:
        return take(table, rows.reshape(-1))

    def cells_of(self, table: np.ndarray, places: Value) -> Value:
        return take(table, places)

    def column(self, x: Value, k: int) -> Value:
        return x.columns([k])

    def scatter(self, width: int, *cells: tuple[Any, Value]) -> Value:
        unit = np.eye(width)
        terms = []
        for column, value in cells:
            if isinstance(column, Value):
                terms.append(value * take(unit, column.reshape(-1), self.dtype))
            else:
                terms.append(value * unit[column])
        return reduce(add, terms)

    def similarity(self, squares: Value, rates: Value, scales: Value) -> Value:
        powers = squares * rates / scales
        return where(powers < _NEGLIGIBLE, (-powers).exp(), 0.0)

    def holds_anywhere(self, x: Value) -> bool:
        return True


# ---- formulas shared by several models -----------------------------------------------------------


def center_rows(X: Value, center: Any, unit: Any = 1.0) -> Value:
    """Return (X - center) / unit, computed in double precision to avoid cancellation."""
    scaled = X.double() - np.asarray(center, float)
    if np.any(np.asarray(unit) != 1):
        scaled = scaled / np.asarray(unit, float)
    return scaled.astype(X.dtype)


def squared_distances(X: Value, points: np.ndarray) -> Value:
    """Return the squared Euclidean distances of n rows to r points, shape (n, r).

    The distance between equal rows is exactly zero if ``points`` has the type of X and at most 32
    columns.
    """
    middle = points.mean(axis=0, dtype=float)
    return squares_of(
        center_rows(X, middle), (points.astype(float) - middle).astype(X.dtype)
    )


def squares_of(rows: Value, points: np.ndarray) -> Value:
    """Return the squared distances between n rows and r points, both centered, shape (n, r)."""
    p = points.shape[1]
    if p <= _MAX_COLUMNS_FOR_DIFFERENCES:
        gaps = [column - points[:, d] for d, column in enumerate(rows.split(p))]
        return reduce(add, [gap * gap for gap in gaps])
    squares = np.square(points, dtype=float).sum(axis=1)
    return ((rows * rows).sum() - 2 * (rows @ points.T) + squares).relu()


def approach_known_masses(
    masses: Value,
    X: Value,
    squares: Value,
    objects: np.ndarray,
    known: np.ndarray,
    radii: np.ndarray,
) -> Value:
    """Apply `dempster.optimize.projection.approach_known_masses` to rows of X.

    ``squares`` contains their squared distances to ``objects``, up to rounding errors.
    """
    nearest = squares.argmin()
    gap = X - take(objects, nearest, X.dtype)
    distance = (gap * gap).sum().sqrt()
    radius = take(radii[:, None], nearest, X.dtype)
    share = minimum((1 + SHARE_TOLERANCE - distance / radius).relu(), 1.0)
    share = share.astype(masses.dtype)
    return (1 - share) * masses + share * take(known, nearest, masses.dtype)


# ---- the graph -----------------------------------------------------------------------------------


class Graph:
    """Operators that compute the outputs of a model from rows ``X`` of a given shape and type."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        self.shape = shape
        self.dtype = dtype
        self.X = Value(self, "X", dtype)
        self.nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._count = 0
        self._constants: dict[
            tuple[str, tuple[int, ...], bytes], tuple[str, np.ndarray]
        ] = {}

    def constant(self, values: Any, dtype: np.dtype) -> Value:
        """Return a constant; equal constants are stored only once."""
        array = np.array(values, dtype, order="C")
        key = (array.dtype.str, array.shape, array.tobytes())
        name, _ = self._constants.setdefault(
            key, (f"constant_{len(self._constants)}", array)
        )
        return Value(self, name, array.dtype)

    def node(
        self,
        kind: str,
        *inputs: Value,
        dtype: np.dtype | None = None,
        **attributes: Any,
    ) -> Value:
        """Add an operator and return its result, by default with the type of the first input."""
        dtypes = [dtype or inputs[0].dtype]
        return self.multi_node(kind, *inputs, dtypes=dtypes, **attributes)[0]

    def multi_node(
        self, kind: str, *inputs: Value, dtypes: list[np.dtype], **attributes: Any
    ) -> tuple[Value, ...]:
        from onnx import helper

        first = self._fresh(kind)
        names = [first, *(f"{first}_{k}" for k in range(1, len(dtypes)))]
        self.nodes.append(
            helper.make_node(
                kind, [value.name for value in inputs], names, first, **attributes
            )
        )
        return tuple(
            Value(self, name, dtype) for name, dtype in zip(names, dtypes, strict=True)
        )

    def loop(
        self,
        step: Callable[..., tuple[Value, ...]],
        states: tuple[Value, ...],
        most: int,
    ) -> tuple[Value, ...]:
        """Add a loop of at most ``most`` iterations and return the final states.

        ``step`` gets the current states and returns whether to continue, followed by the next
        states. The body of an ONNX loop has two more inputs, the iteration number and the
        condition, which are not used.
        """
        from onnx import helper

        outside = self.nodes
        self.nodes = []
        dtypes = [state.dtype for state in states]
        inside = [Value(self, self._fresh("state"), dtype) for dtype in dtypes]
        results = [self.node("Identity", result) for result in step(*inside)]
        number = Value(self, self._fresh("step"), _INDEX)
        condition = Value(self, self._fresh("continues"), _TRUTH)
        inputs = [number.describe([]), condition.describe([])]
        inputs += [value.describe(None) for value in inside]
        outputs = [value.describe(None) for value in results]
        body = helper.make_graph(self.nodes, "step", inputs, outputs)
        self.nodes = outside
        limits = (self.constant(most, _INDEX), self.constant(True, _TRUTH))
        return self.multi_node("Loop", *limits, *states, dtypes=dtypes, body=body)

    def insert(self, model: Any, inputs: Value) -> Value:
        """Insert an ONNX model with one input, and return its only output for ``inputs``."""
        from onnx import compose, helper

        graph = compose.add_prefix_graph(model.graph, f"{self._fresh('network')}/")
        self.nodes.append(
            helper.make_node("Identity", [inputs.name], [graph.input[0].name])
        )
        self.nodes += graph.node
        self._tensors += graph.initializer
        return Value(self, graph.output[0].name, inputs.dtype)

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count}"

    def model(
        self,
        outputs: dict[str, tuple[Value, int | None]],
        metadata: dict[str, str],
        description: str,
    ) -> Any:
        """Return the graph as an ``onnx.ModelProto``."""
        from onnx import checker, helper, numpy_helper

        from dempster import __version__

        nodes = list(self.nodes)
        infos = []
        for name, (value, width) in outputs.items():
            nodes.append(helper.make_node("Identity", [value.name], [name], name=name))
            shape: list[int | str] = ["n"] if width is None else ["n", width]
            infos.append(Value(self, name, value.dtype).describe(shape))
        X = self.X.describe(["n", *self.shape])
        tensors = [
            numpy_helper.from_array(array, name)
            for name, array in self._constants.values()
        ]
        tensors += self._tensors
        graph = helper.make_graph(
            nodes, "masses", [X], infos, tensors, doc_string=description
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=_IR_VERSION,
            producer_name="dempster",
            producer_version=__version__,
            doc_string=description,
        )
        helper.set_model_props(model, metadata)
        checker.check_model(model, full_check=True)
        return model
