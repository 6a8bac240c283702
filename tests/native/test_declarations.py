"""Declarations in Python agree with the signatures of the C functions."""

import importlib
import re

import pytest

from dempster._native import Kernel
from dempster._native.fingerprint import PACKAGE, headers, sources

HEAD = re.compile(r"^KERNEL (?:TYPED\()?(\w+)\)?\(([^{]*)\) \{", re.M)
TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    "int32": "int32_t",
    "int64": "index_t",
    "float": "double",
    "int": "index_t",
    "real": "real",
    "integer": "integer",
}  # of numbers and arrays; the others are rare


def declared():
    """Return every kernel of the package by name."""
    root = PACKAGE.parent
    files = [
        file for file in PACKAGE.rglob("*.py") if "import kernel\n" in file.read_text()
    ]
    modules = [".".join(file.relative_to(root).with_suffix("").parts) for file in files]
    found = [
        value
        for name in modules
        for value in vars(importlib.import_module(name)).values()
    ]
    return {value.name: value for value in found if isinstance(value, Kernel)}


def written():
    """Return types and names of the arguments of every kernel in C."""
    heads = {}
    for file in [*sources(), *headers()]:
        for name, arguments in HEAD.findall(file.read_text()):
            pairs = [
                re.fullmatch(r"(?:const )?(\w+) (\**)(\w+)", each.strip())
                for each in arguments.split(",")
            ]
            heads[name] = [
                (kind + stars, argument)
                for kind, stars, argument in (p.groups() for p in pairs if p)
            ]
    return heads


KERNELS = declared()
HEADS = written()


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_arguments_agree_with_the_c_function(name):
    kernel = KERNELS[name]
    if name not in HEADS:
        pytest.skip("its name is made of several macros")
    wanted = [("index_t", size) for size in kernel._sizes]
    for argument in kernel._arguments:
        array = hasattr(argument, "lengths")
        if array:
            kind = argument.variable or str(argument.dtype)
        else:
            kind = argument.type
        wanted.append((TYPES.get(kind, kind) + "*" * array, argument.name))
    if kernel._result is not None:
        wanted.append(
            (
                {"c_long": "index_t*", "c_double": "double*"}[kernel._result.__name__],
                "result",
            )
        )
    assert HEADS[name] == wanted
