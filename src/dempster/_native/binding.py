"""The door to the kernels: what a declaration says, and what is checked before a kernel runs.

A declaration reads like the head of a function::

    _settle = kernel('''settle_links(
        H: float64[f, f], linear: float64[k, f], rows: int64[k] below n, M: float64[n, f] out,
        indptr: int64[n + 1] offsets in e, indices: int32[e] below n, coefficients: float64[e],
        max_iter: int, tol: float)''')

and gives an object that is called with these arguments, by position. In a declaration

- ``float64[n, f]`` is an array. Lengths with the same name must agree; they may be numbers, and names plus numbers.
  An argument of type ``int`` with that name counts too;
- ``real[...]`` is float32 or float64, the same for all that are called ``real`` (``real1`` and ``real2`` are others);
  ``integer`` is int32 or int64 in the same way. The C function is then called ``name_f32``, ``name_f64``, and so on;
- ``out`` marks what the kernel writes to;
- ``or None`` lets None through, as a null pointer;
- ``below n`` says that all numbers are in 0, ..., n - 1 (``up to n``: 0, ..., n), for arrays and for an ``int``;
  ``below n or -1`` lets -1 through too, which points nowhere;
- ``offsets in e`` says that an array rises from at least 0 to at most e: the rows of a compressed matrix;
- ``int``, ``float`` and ``bool`` are numbers; ``-> int`` and ``-> float`` after the brackets name a result.

Arrays must be C-contiguous and of exactly that type: nothing is converted here, so nothing is copied unseen. How the C
function takes its arguments is said in ``native.h``. A call costs about half a microsecond for each array.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from dempster._native.library import library

__all__ = ["Kernel", "kernel"]

_SHORT = {"float32": "f32", "float64": "f64", "int16": "i16", "int32": "i32", "int64": "i64"}
_DTYPES = {name: np.dtype(name) for name in [*_SHORT, "bool", "uint8", "uint16", "uint32", "uint64", "int8"]}
_VARIABLES = {"real": ("float32", "float64"), "integer": ("int32", "int64")}
_VARIABLE = re.compile(r"(real|integer)\d?")
_RESULTS: dict[str | None, Any] = {None: None, "int": ctypes.c_int64, "float": ctypes.c_double}
_LARGEST = 2**63 - 1

_HEAD = re.compile(r"\s*(\w+)\s*\((.*)\)\s*(?:->\s*(int|float)\s*)?$", re.S)
_ARGUMENT = re.compile(
    r"(?P<name>\w+)\s*:\s*(?P<type>\w+)\s*(?:\[(?P<shape>[^\]]*)\])?\s*"
    r"(?:(?P<rule>below|up to|offsets in)\s+(?P<bound>\w+)(?P<absent>\s+or -1)?)?\s*"
    r"(?P<out>out)?\s*(?P<optional>or None)?"
)
_LENGTH = re.compile(r"(?:(\w+)\s*\+\s*)?(\d+)|(\w+)")

_address: Callable[[Any], Any] = (ctypes.c_char * 0).from_buffer  # of an array that can be written to

Sizes = dict[str | None, int]


@dataclass(frozen=True)
class _Number:
    """An int, float or bool."""

    name: str
    type: str
    rule: str | None = None
    bound: str | None = None
    first: int = 0
    variable: ClassVar[None] = None

    ctypes_of: ClassVar = {"int": ctypes.c_int64, "float": ctypes.c_double, "bool": ctypes.c_bool}

    @property
    def ctype(self) -> Any:
        return self.ctypes_of[self.type]

    def take(self, value: Any, sizes: Sizes, types: dict[str, np.dtype]) -> Any:
        if self.type == "int":
            try:
                number = operator.index(value)
            except TypeError:
                raise TypeError(f"{self.name} must be an integer, got {value!r}") from None
            if not -_LARGEST <= number <= _LARGEST:
                raise ValueError(f"{self.name} must fit in 64 bits, got {number}")
            if sizes.setdefault(self.name, number) != number:
                raise ValueError(f"{self.name} must be {sizes[self.name]}, as the arrays are, got {number}")
            return number
        if self.type == "float":
            try:
                return float(value)
            except (TypeError, ValueError):
                raise TypeError(f"{self.name} must be a number, got {value!r}") from None
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{self.name} must be True or False, got {value!r}")
        return bool(value)

    def check(self, value: Any, end: int) -> None:
        if not self.first <= operator.index(value) < end + (self.rule == "up to"):
            raise ValueError(f"{self.name} must be {_between(self, end)}, got {value}")


@dataclass(frozen=True)
class _Array:
    """An array: its type, its lengths as (name, number to add), what may be done with it and must hold of it."""

    name: str
    dtype: np.dtype | None
    variable: str | None  # real, real1, integer, ...
    lengths: tuple[tuple[str | None, int], ...]
    out: bool
    optional: bool
    rule: str | None
    bound: str | None
    first: int  # number with which the range of the rule begins
    ctype: ClassVar = ctypes.c_void_p

    def take(self, value: Any, sizes: Sizes, types: dict[str, np.dtype]) -> Any:
        """What ctypes passes on. This is the path of every call, so errors are found out elsewhere."""
        if value is None and self.optional:
            return None
        try:
            dtype, shape, flags = value.dtype, value.shape, value.flags
        except AttributeError:
            raise TypeError(f"{self.name} must be a NumPy array, got {type(value).__name__}") from None
        wanted = types.setdefault(self.variable, dtype) if self.variable else self.dtype
        if dtype is not wanted and dtype != wanted:
            self._refuse_type(dtype, wanted)
        if len(shape) != len(self.lengths):
            self._refuse_shape(shape, sizes)
        for (name, more), length in zip(self.lengths, shape, strict=True):
            if length < more or sizes.setdefault(name, length - more) != length - more:
                self._refuse_shape(shape, sizes)
        if flags.carray:  # contiguous, aligned and writeable
            return _address(value)
        return self._unusual(value)

    def _unusual(self, value: np.ndarray) -> Any:
        if not value.flags.c_contiguous:
            raise ValueError(f"{self.name} must be C-contiguous, got strides {value.strides} of shape {value.shape}")
        if not value.flags.aligned:
            raise ValueError(f"{self.name} must be aligned in memory")
        if self.out:
            raise ValueError(f"{self.name} is written to, but is read-only")
        return value.ctypes.data

    def check(self, value: np.ndarray | None, end: int) -> None:
        """The rule on its numbers, in a pass of compiled code."""
        if value is None:
            return
        offsets = self.rule == "offsets in"
        beyond = end + (self.rule == "up to")
        holds = _rule("are_offsets" if offsets else "all_within", value.dtype.name)
        place = _address(value) if value.flags.carray else value.ctypes.data
        if holds(place, value.size, self.first, end if offsets else beyond):
            return
        if offsets:
            raise ValueError(f"{self.name} must rise from 0 to at most {end}, the number of entries")
        wrong = value[(value < self.first) | (value >= beyond)]
        raise ValueError(f"{self.name} must be {_between(self, end)}, got {wrong[0]}")

    def _refuse_type(self, dtype: np.dtype, wanted: np.dtype | None) -> NoReturn:
        raise TypeError(f"{self.name} must be an array of {wanted}, got {dtype}")

    def _refuse_shape(self, shape: tuple[int, ...], sizes: Sizes) -> NoReturn:
        lengths = [_written(name, more) for name, more in self.lengths]
        known = {name: sizes[name] for name, _ in self.lengths if name is not None and name in sizes}
        where = ", ".join(f"{name} = {size}" for name, size in known.items())
        wanted = f"({', '.join(lengths)}{',' * (len(lengths) == 1)})" + (f" with {where}" if where else "")
        raise ValueError(f"{self.name} must have shape {wanted}, got {shape}")


@functools.cache
def _rule(kind: str, dtype: str) -> Callable:
    """The C function that checks a rule on an array of a type."""
    function = getattr(library(), f"{kind}_{_SHORT[dtype]}")
    function.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
    return function


class Kernel:
    """A C function and what its arguments must be; called like a function, by position.

    The result is that of the declaration, or None. `MemoryError` is raised where the kernel found no memory.
    """

    def __init__(self, declaration: str):
        head = _HEAD.match(declaration)
        if not head:
            raise SyntaxError(f"not a declaration of a kernel: {declaration!r}")
        self.name, text, result = head.groups()
        self._arguments = [_argument(each) for each in re.split(r",(?![^\[]*\])", text) if each.strip()]
        numbers = {a.name for a in self._arguments if isinstance(a, _Number) and a.type == "int"}
        lengths = [name for a in self._arguments if isinstance(a, _Array) for name, _ in a.lengths if name]
        self._sizes = [name for name in dict.fromkeys(lengths) if name not in numbers]
        self._variables = list(dict.fromkeys(a.variable for a in self._arguments if a.variable))
        for name in {a.bound for a in self._arguments if a.rule} - {*self._sizes, *numbers}:
            raise SyntaxError(f"{self.name}: {name} is neither a length nor an integer argument")
        self._result = _RESULTS[result]
        self._functions: dict[tuple[np.dtype, ...], Callable] = {}
        if not self._variables:
            self._function(())
        self._usual = self._written_out()
        self.__doc__ = " ".join(declaration.split())

    def __call__(self, *values: Any) -> Any:
        return self._usual(*values)

    def _carefully(self, *values: Any) -> Any:
        """Check one argument after the other, and say what is wrong with the first that is not as declared."""
        sizes: Sizes = {None: 0}
        types: dict[str, np.dtype] = {}
        taken = [argument.take(value, sizes, types) for argument, value in zip(self._arguments, values, strict=True)]
        for argument, value in zip(self._arguments, values, strict=True):
            if argument.rule:
                argument.check(value, sizes.get(argument.bound, 0))
        of_variables = tuple(types[name] for name in self._variables)
        function = self._functions.get(of_variables) or self._function(of_variables)
        result = [self._result()] if self._result else []
        if function(*(sizes.get(name, 0) for name in self._sizes), *taken, *map(ctypes.byref, result)):
            self._refuse_memory()
        return result[0].value if result else None

    def _written_out(self) -> Callable:
        """A call as one function without loops, which takes half the time of `_carefully`.

        It knows what is usual; where something is not, it asks `_carefully` whether that is an error.
        """
        arrays = [a for a in self._arguments if isinstance(a, _Array)]
        numbers = [a for a in self._arguments if isinstance(a, _Number)]
        size_of = {a.name: f"{a.name}_" for a in numbers if a.type == "int"}
        first_of: dict[str, str] = {}
        found, usual = [], [f"type({a.name}_) is {a.type}" for a in numbers]
        usual += [f"{-_LARGEST} <= {a.name}_ <= {_LARGEST}" for a in numbers if a.type == "int"]
        for a in sorted(arrays, key=lambda a: a.optional):  # what may be None tells neither lengths nor types
            for axis, (name, more) in enumerate(a.lengths):
                if name and name not in size_of:
                    size_of[name] = f"{name}_size"
                    found.append(f"{name}_size = {a.name}_.shape[{axis}] - {more}")
                    usual += [f"{name}_size >= 0"] if more else []
            if a.variable:
                first_of.setdefault(a.variable, a.name)
            dtype = f"{first_of[a.variable]}_.dtype" if a.variable else f"{a.dtype}_type"
            lengths = "".join(f"{size_of[name]} + {more}, " if name else f"{more}, " for name, more in a.lengths)
            plain = f"{a.name}_.dtype is {dtype} and {a.name}_.shape == ({lengths}) and {a.name}_.flags.carray"
            usual.append(f"({a.name}_ is None or {plain})" if a.optional else plain)
        names = ", ".join(f"{a.name}_" for a in self._arguments)
        types = "".join(f"{first_of[name]}_.dtype, " for name in self._variables)
        address_of = {a.name: f"address({a.name}_)" for a in arrays}
        address_of |= {a.name: f"None if {a.name}_ is None else address({a.name}_)" for a in arrays if a.optional}
        passed = [size_of[name] for name in self._sizes]
        passed += [address_of.get(a.name, f"{a.name}_") for a in self._arguments]
        text = f"""
def {self.name}({names}):
    try:
        {"; ".join(found) or "pass"}
        ordinary = {" and ".join(usual) or "True"}
        call = functions.get(({types}))
    except (AttributeError, IndexError, TypeError):
        ordinary = False
    if not ordinary or call is None:
        return carefully({names})
    {"; ".join(f"{a.name}_check({a.name}_, {size_of[str(a.bound)]})" for a in self._arguments if a.rule) or "pass"}
    result = Result()
    if call({", ".join([*passed, *(["byref(result)"] if self._result else [])])}):
        no_memory()
    return result{".value" if self._result else ""}
"""
        scope: dict[str, Any] = {
            "functions": self._functions,
            "address": _address,
            "carefully": self._carefully,
            "no_memory": self._refuse_memory,
            "byref": ctypes.byref,
            "Result": self._result or type(None),
            **{f"{name}_type": dtype for name, dtype in _DTYPES.items()},
            **{f"{a.name}_check": a.check for a in self._arguments},
        }
        exec(text, scope)
        return scope[self.name]

    def _refuse_memory(self) -> NoReturn:
        raise MemoryError(f"no memory for the scratch arrays of {self.name}")

    def _function(self, types: tuple[np.dtype, ...]) -> Callable:
        """The C function for these types of the variables."""
        for variable, dtype in zip(self._variables, types, strict=True):
            allowed = _VARIABLES[variable.rstrip("0123456789")]
            if dtype.name not in allowed or not dtype.isnative:
                first = next(a.name for a in self._arguments if a.variable == variable)
                raise TypeError(f"{first} must be an array of {' or '.join(allowed)}, got {dtype}")
        name = "_".join([self.name, *(_SHORT[dtype.name] for dtype in types)])
        try:
            function = getattr(library(), name)
        except AttributeError:
            raise ImportError(f"the compiled kernels lack {name}: run `make kernels`") from None
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.c_int64] * len(self._sizes) + [a.ctype for a in self._arguments]
        if self._result is not None:
            function.argtypes = [*function.argtypes, ctypes.POINTER(self._result)]
        self._functions[types] = function
        return function

    def __repr__(self) -> str:
        return f"<kernel {self.__doc__}>"


def kernel(declaration: str) -> Kernel:
    """The kernel that a declaration names; see the top of this module."""
    return Kernel(declaration)


def _argument(text: str) -> _Number | _Array:
    found = _ARGUMENT.fullmatch(text.strip())
    if not found:
        raise SyntaxError(f"not an argument of a kernel: {text.strip()!r}")
    name, kind, shape, rule, bound, absent, out, optional = found.groups()
    first = -1 if absent else 0
    if absent and rule != "below":
        raise SyntaxError(f"not an argument of a kernel: {text.strip()!r}")
    if shape is None:
        if kind not in _Number.ctypes_of or out or optional or rule == "offsets in" or (rule and kind != "int"):
            raise SyntaxError(f"not an argument of a kernel: {text.strip()!r}")
        return _Number(name, kind, rule, bound, first)
    variable = kind if _VARIABLE.fullmatch(kind) else None
    if variable is None and kind not in _DTYPES:
        raise SyntaxError(f"{name}: no type is called {kind!r}")
    lengths = tuple(_length(each.strip()) for each in shape.split(","))
    dtype = None if variable else _DTYPES[kind]
    return _Array(name, dtype, variable, lengths, bool(out), bool(optional), rule, bound, first)


def _length(text: str) -> tuple[str | None, int]:
    found = _LENGTH.fullmatch(text)
    if not found:
        raise SyntaxError(f"not a length: {text!r}")
    name, number, alone = found.groups()
    return (alone, 0) if alone else (name, int(number))


def _written(name: str | None, more: int) -> str:
    return str(more) if name is None else name if more == 0 else f"{name} + {more}"


def _between(argument: _Number | _Array, end: int) -> str:
    last = "at most" if argument.rule == "up to" else "below"
    return f"at least {argument.first} and {last} {argument.bound} = {end}"
