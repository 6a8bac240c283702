"""The examples in docstrings return the shown results."""

import doctest
import importlib
from pathlib import Path

import pytest

import dempster

SOURCE = Path(dempster.__file__).parent
FILES = [file for file in sorted(SOURCE.rglob("*.py")) if ">>> " in file.read_text(encoding="utf-8")]
MODULES = [".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__") for file in FILES]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried
    assert not failed
