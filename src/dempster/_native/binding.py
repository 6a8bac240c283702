"""Calls of compiled kernels (C functions) through ctypes, which releases the GIL.

Each kernel is declared by its signature::

    settle_links = kernel('''settle_links(
        H: float64[f, f], linear: float64[k, f], rows: int64[k] below n, M: float64[n, f] out,
        indptr: int64[n + 1] offsets in e, indices: int32[e] below n, coefficients: float64[e],
        max_iter: int, tol: float)''')

The result is a callable that takes the declared arguments by position. In a declaration,

- ``float64[n, f]`` is an array. A length is a name, a number, or a name plus a number. Lengths with
  the same name must be equal, also to an argument of type ``int`` with this name;
- ``real[...]`` is a float32 or float64 array, of the same type for all arrays declared as ``real``
  (``real1`` and ``real2`` are independent). ``integer[...]`` is int32 or int64. The C functions are
  ``name_f32``, ``name_f64``, etc.;
- ``out`` marks arrays that the kernel modifies;
- ``or None`` permits None, which is passed as a null pointer;
- ``below n`` requires the values of an array or an ``int`` to be in 0, ..., n - 1, and ``up to n``
  in 0, ..., n. ``below n or -1`` also permits -1, which means "none";
- ``offsets in e`` requires a nondecreasing array of values from 0 to e, such as the row offsets of
  a CSR matrix;
- ``int``, ``float`` and ``bool`` are numbers. ``-> int`` or ``-> float`` after the brackets is the
  type of the result.

Arrays must be C-contiguous and have exactly the declared type. They are never converted or copied,
with one exception: NumPy's default integers have 32 bits on some platforms, and therefore int32
arrays are converted where int64 is declared without ``out``, or where another array of the same
``integer`` type is int64. ``native.h`` describes the arguments of the C function. A call takes
about one microsecond per array.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from dempster._native.fingerprint import fingerprint

Result = TypeVar("Result")
Sizes = dict[str | None, int]

_SHORT = {
    "float32": "f32",
    "float64": "f64",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
}
_VARIABLES = {"real": ("float32", "float64"), "integer": ("int32", "int64")}
_NUMBERS: dict[str, Any] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "bool": ctypes.c_bool,
}
_INT32 = np.dtype("int32")
_INT64 = np.dtype("int64")
_PLAIN_TYPES = frozenset({int, float, bool, type(None)})  # types that ctypes converts
_MAX_INT = 2**63 - 1
_MAX_SIGNATURES = 256

_HEAD = re.compile(r"\s*(\w+)\s*\((.*)\)\s*(?:->\s*(int|float)\s*)?$", re.S)
_ARGUMENT = re.compile(
    r"(?P<name>\w+)\s*:\s*(?P<type>\w+)\s*(?:\[(?P<shape>[^\]]*)\])?\s*"
    r"(?:(?P<rule>below|up to|offsets in)\s+(?P<bound>\w+)(?P<absent>\s+or -1)?)?\s*"
    r"(?P<out>out)?\s*(?P<optional>or None)?"
)
_LENGTH = re.compile(r"(?:(\w+)\s*\+\s*)?(\d+)|(\w+)")

HAS_THREADS = sys.platform != "emscripten"  # In a browser, Python runs in one thread.

# returns the address of a writeable array
_address: Callable[[Any], Any] = (ctypes.c_char * 0).from_buffer


# ---- the library ---------------------------------------------------------------------------------

FOLDER = Path(__file__).parent
_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
_REMEDY = (
    "install dempster again (`pip install .` compiles "
    "it) or, in a checkout, run `make kernels`"
)


@functools.cache
def library() -> ctypes.CDLL:
    """Load the fastest kernels for this processor, or the file that DEMPSTER_KERNELS names."""
    chosen = os.environ.get("DEMPSTER_KERNELS")
    if chosen:
        return _load(chosen)
    baseline = FOLDER / f"kernels{_SUFFIX}"
    faster = FOLDER / f"kernels-avx2{_SUFFIX}"
    kernels = _load(baseline if baseline.exists() or not faster.exists() else faster)
    if faster.exists():
        if kernels.library_has_avx2():
            kernels = _load(faster)
        elif not baseline.exists():
            reason = "were compiled for another processor"
            raise ImportError(f"the kernels of dempster {reason}: {_REMEDY}")
    _check_age(kernels)
    return kernels


def _load(path: str | Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        reason = f"cannot be loaded ({error})"
        raise ImportError(
            f"the compiled kernels of dempster {reason}: {_REMEDY}"
        ) from error


def _check_age(kernels: ctypes.CDLL) -> None:
    """Raise ImportError if the C sources have changed since the library was compiled."""
    present = fingerprint()
    if present is None:
        return
    found = ctypes.create_string_buffer(17)
    kernels.library_fingerprint(found)
    if found.value.decode() != present:
        raise ImportError(
            "the C sources of dempster have changed since its kernels were compiled: "
            "run `make kernels`"
        )


def interruptible(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a long-running function that releases the GIL, so that Ctrl-C interrupts it immediately.

    Python handles signals only between two bytecode instructions of the main thread, not during a
    call into C or LAPACK. The function is therefore called in another thread while the main thread
    waits. After an interrupt, the result of the call is discarded.

    >>> interruptible(max, 2, 3)
    3
    """
    if not HAS_THREADS or threading.current_thread() is not threading.main_thread():
        return function(*arguments)
    future: Future[Result] = Future()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return future.result()


# ---- arguments -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Argument:
    """Declaration of an argument: its name and the permitted range of its values."""

    name: str
    rule: str | None
    bound: str | None
    first: int

    def range_text(self, end: int) -> str:
        last = {"up to": "at most"}.get(self.rule or "", "below")
        return f"at least {self.first} and {last} {self.bound} = {end}"


@dataclass(frozen=True)
class _Number(_Argument):
    type: str
    variable: ClassVar[None] = None

    @property
    def ctype(self) -> Any:
        return _NUMBERS[self.type]

    def convert(self, value: Any, sizes: Sizes, types: dict[str, np.dtype]) -> Any:
        if self.type == "bool":
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{self.name} must be True or False, got {value!r}")
            return bool(value)
        try:
            if self.type == "float":
                return float(value)
            number = operator.index(value)
        except (TypeError, ValueError):
            kind = {"int": "an integer", "float": "a number"}[self.type]
            raise TypeError(f"{self.name} must be {kind}, got {value!r}") from None
        if not -_MAX_INT <= number <= _MAX_INT:
            raise ValueError(f"{self.name} must fit in 64 bits, got {number}")
        if sizes.setdefault(self.name, number) != number:
            expected = f"{sizes[self.name]}, the length of the arrays"
            raise ValueError(f"{self.name} must be {expected}, got {number}")
        return number

    def check(self, value: Any, end: int) -> None:
        if not self.first <= operator.index(value) < end + (self.rule == "up to"):
            raise ValueError(f"{self.name} must be {self.range_text(end)}, got {value}")


@dataclass(frozen=True)
class _Array(_Argument):
    dtype: np.dtype | None
    variable: str | None  # type variable, such as real, real1 or integer
    shape: str  # as declared
    # each length is a name (or None) plus a number
    lengths: tuple[tuple[str | None, int], ...]
    out: bool
    optional: bool
    ctype: ClassVar = ctypes.c_void_p

    def convert(self, value: Any, sizes: Sizes, types: dict[str, np.dtype]) -> Any:
        """Check the type, shape and memory layout of an array, and return its address."""
        if value is None and self.optional:
            return None
        if not isinstance(value, np.ndarray):
            raise TypeError(
                f"{self.name} must be a NumPy array, got {type(value).__name__}"
            )
        wanted = self.dtype
        if self.variable:
            wanted = types.setdefault(self.variable, value.dtype)
        if value.dtype != wanted:
            raise TypeError(
                f"{self.name} must be an array of {wanted}, got {value.dtype}"
            )
        if value.ndim != len(self.lengths) or any(
            length < more or sizes.setdefault(name, length - more) != length - more
            for (name, more), length in zip(self.lengths, value.shape, strict=True)
        ):
            agreed = [f"{name} = {size}" for name, size in sizes.items() if name]
            expected = f"shape [{self.shape}] with {', '.join(agreed)}"
            raise ValueError(f"{self.name} must have {expected}, got {value.shape}")
        if not value.flags.c_contiguous:
            found = f"shape {value.shape} and strides {value.strides}"
            raise ValueError(f"{self.name} must be C-contiguous, got {found}")
        if not value.flags.aligned:
            raise ValueError(f"{self.name} must be aligned in memory")
        if self.out and not value.flags.writeable:
            raise ValueError(f"{self.name} must be writable, got a read-only array")
        return _place(value)

    def check(self, value: np.ndarray | None, end: int) -> None:
        """Check in compiled code that the values are in the permitted range."""
        if value is None:
            return
        is_offsets = self.rule == "offsets in"
        beyond = end + (self.rule == "up to")
        holds = _rule("are_offsets" if is_offsets else "all_within", value.dtype.name)
        if holds(_place(value), value.size, self.first, beyond):
            return
        if is_offsets:
            expected = f"rise from 0 to at most {end}, the number of entries"
            raise ValueError(f"{self.name} must {expected}")
        wrong = value[(value < self.first) | (value >= beyond)]
        raise ValueError(f"{self.name} must be {self.range_text(end)}, got {wrong[0]}")


def _place(value: np.ndarray) -> Any:
    """Return the address of an array."""
    if value.flags.carray:
        return _address(value)
    return value.ctypes.data


@functools.cache
def _rule(kind: str, dtype: str) -> Callable:
    """Return the C function that checks the values of an array of the given type."""
    function = getattr(library(), f"{kind}_{_SHORT[dtype]}")
    function.argtypes = [ctypes.c_void_p] + [ctypes.c_int64] * 3
    return function


def _parse_argument(text: str) -> _Number | _Array:
    found = _ARGUMENT.fullmatch(text.strip())
    if not found:
        raise SyntaxError(f"not an argument of a kernel: {text.strip()!r}")
    name, kind, shape, rule, bound, absent, out, optional = found.groups()
    first = -1 if absent else 0
    if shape is None:
        return _Number(name, rule, bound, first, kind)
    variable = kind if re.fullmatch(r"(real|integer)\d?", kind) else None
    lengths = tuple(_parse_length(each.strip()) for each in shape.split(","))
    dtype = None if variable else np.dtype(kind)
    return _Array(
        name,
        rule,
        bound,
        first,
        dtype,
        variable,
        shape,
        lengths,
        bool(out),
        bool(optional),
    )


def _parse_length(text: str) -> tuple[str | None, int]:
    found = _LENGTH.fullmatch(text)
    if not found:
        raise SyntaxError(f"not a length: {text!r}")
    name, number, alone = found.groups()
    return name or alone, int(number or 0)


# ---- kernels -------------------------------------------------------------------------------------


class Kernel:
    """C function with a declaration of its arguments; it is called with positional arguments.

    The call returns the declared result or None. If the C function cannot allocate memory, it
    raises `MemoryError`.
    """

    def __init__(self, declaration: str):
        head = _HEAD.match(declaration)
        if not head:
            raise SyntaxError(f"not a declaration of a kernel: {declaration!r}")
        self.name, text, result = head.groups()
        self._arguments = [
            _parse_argument(each)
            for each in re.split(r",(?![^\[]*\])", text)
            if each.strip()
        ]
        numbers = {
            a.name
            for a in self._arguments
            if isinstance(a, _Number) and a.type == "int"
        }
        lengths = [
            name
            for a in self._arguments
            if isinstance(a, _Array)
            for name, _ in a.lengths
            if name
        ]
        self._sizes = [name for name in dict.fromkeys(lengths) if name not in numbers]
        self._variables = list(
            dict.fromkeys(a.variable for a in self._arguments if a.variable)
        )
        for name in {a.bound for a in self._arguments if a.rule} - {
            *self._sizes,
            *numbers,
        }:
            raise SyntaxError(
                f"{self.name}: {name} is neither a length nor an integer argument"
            )
        self._result = _NUMBERS.get(result)
        self._functions: dict[tuple[np.dtype, ...], Callable] = {}
        if not self._variables:
            self._function(())
        self._is_length = [
            isinstance(a, _Number) and a.name in lengths for a in self._arguments
        ]
        position: dict[str | None, int] = {
            a.name: i for i, a in enumerate(self._arguments)
        }
        self._rules = [
            (a, i, a.bound, position.get(a.bound))
            for i, a in enumerate(self._arguments)
            if a.rule
        ]
        self._checked: dict[
            tuple, tuple[Callable, dict[str | None, int], list[int]]
        ] = {}
        self.declaration = " ".join(declaration.split())

    def __call__(self, *values: Any) -> Any:
        # Each combination of types and shapes is checked only once, because most calls repeat an
        # earlier combination.
        signature: list[Any] = []
        passed = []
        for value, is_length in zip(values, self._is_length, strict=False):
            kind = type(value)
            if kind is np.ndarray:
                if not value.flags.carray:  # not contiguous, aligned and writeable
                    return self._check_and_call(values)
                signature.append(value.dtype)
                signature.append(value.shape)
                passed.append(_address(value))
            elif kind in _PLAIN_TYPES:
                if kind is int and not -_MAX_INT <= value <= _MAX_INT:
                    return self._check_and_call(values)
                signature.append(value if is_length else kind)
                passed.append(value)
            else:
                return self._check_and_call(values)
        found = self._checked.get(tuple(signature))
        if found is None or len(values) != len(self._arguments):
            return self._check_and_call(values, tuple(signature))
        function, sizes, leading = found
        for argument, i, name, position in self._rules:
            argument.check(
                values[i], sizes[name] if position is None else values[position]
            )
        return self._run(function, leading, passed)

    def _check_and_call(
        self, values: tuple[Any, ...], signature: tuple | None = None
    ) -> Any:
        """Check all arguments, store their types and shapes under ``signature``, and call."""
        if len(values) != len(self._arguments):
            expected = f"{len(self._arguments)} arguments"
            raise TypeError(f"{self.name} takes {expected}, got {len(values)}")
        if widened := self._widen(values):
            values = widened
            signature = None
        sizes: Sizes = {None: 0}
        types: dict[str, np.dtype] = {}
        pairs = zip(self._arguments, values, strict=True)
        passed = [argument.convert(value, sizes, types) for argument, value in pairs]
        for argument, i, name, _ in self._rules:
            argument.check(values[i], sizes.get(name, 0))
        key = tuple(types[name] for name in self._variables)
        function = self._functions.get(key) or self._function(key)
        leading = [sizes.get(name, 0) for name in self._sizes]
        if signature is not None:
            if len(self._checked) >= _MAX_SIGNATURES:
                self._checked.clear()
            self._checked[signature] = function, sizes, leading
        return self._run(function, leading, passed)

    def _widen(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Convert the int32 arrays that must be int64; return None if there are none."""
        arrays = [
            (i, argument, values[i])
            for i, argument in enumerate(self._arguments)
            if isinstance(values[i], np.ndarray)
        ]
        wide = {argument.variable for _, argument, v in arrays if v.dtype == _INT64}
        widened = {
            i: value.astype(_INT64)
            for i, argument, value in arrays
            if value.dtype == _INT32
            and isinstance(argument, _Array)
            and not argument.out
            and (argument.dtype == _INT64 or (argument.variable or "") in wide)
        }
        if not widened:
            return None
        return tuple(widened.get(i, value) for i, value in enumerate(values))

    def _run(self, function: Callable, leading: list[int], passed: list[Any]) -> Any:
        if self._result is None:
            failed = function(*leading, *passed)
            result = None
        else:
            place = self._result()
            failed = function(*leading, *passed, ctypes.byref(place))
            result = place.value
        if failed:
            raise MemoryError(
                f"not enough memory for the temporary arrays of {self.name}"
            )
        return result

    def _function(self, types: tuple[np.dtype, ...]) -> Callable:
        """Return the C function for the given types of the type variables."""
        for variable, dtype in zip(self._variables, types, strict=True):
            allowed = _VARIABLES[variable.rstrip("0123456789")]
            if dtype.name not in allowed or not dtype.isnative:
                first = next(a.name for a in self._arguments if a.variable == variable)
                raise TypeError(
                    f"{first} must be an array of {' or '.join(allowed)}, got {dtype}"
                )
        name = "_".join([self.name, *(_SHORT[dtype.name] for dtype in types)])
        try:
            function = getattr(library(), name)
        except AttributeError:
            raise ImportError(
                f"the compiled kernels lack {name}: run `make kernels`"
            ) from None
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.c_int64] * len(self._sizes) + [
            a.ctype for a in self._arguments
        ]
        if self._result is not None:
            function.argtypes = [*function.argtypes, ctypes.POINTER(self._result)]
        self._functions[types] = function
        return function

    def __reduce__(self) -> tuple[type[Kernel], tuple[str]]:
        return Kernel, (self.declaration,)

    def __repr__(self) -> str:
        return f"<kernel {self.declaration}>"


kernel = Kernel  # declares a kernel as described in the docstring of this module
