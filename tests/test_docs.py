"""The method that the documentation adds to the house: its code runs, and it does what every clusterer must."""

import importlib.util
import itertools
import re
import sys
from pathlib import Path

import pytest

from tests.cluster import test_contract
from tests.cluster.contract import Subject

PAGE = Path(__file__).resolve().parents[1] / "docs" / "adding_a_method.md"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The code of the page as a module."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    file = tmp_path_factory.mktemp("docs") / "noise_clustering.py"
    file.write_text("\n".join(blocks), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("noise_clustering", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["noise_clustering"] = module  # pickle looks there
    spec.loader.exec_module(module)
    yield module
    del sys.modules["noise_clustering"]


def arguments(check):
    """What a test of the contract is called with besides the clusterer."""
    choices = []
    for mark in getattr(check, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            names = [names] if isinstance(names, str) else names
            choices.append([dict(zip(names, v if len(names) > 1 else [v], strict=True)) for v in values])
    return [{k: v for part in parts for k, v in part.items()} for parts in itertools.product(*choices)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in vars(test_contract) if name.startswith("test_")])
def test_the_method_of_the_page_keeps_the_contract(written, name):
    check = getattr(test_contract, name)
    for more in arguments(check):
        check(Subject(written.NoiseCMeans), **more)


def test_its_own_tests_pass(written):
    names = [name for name in vars(written) if name.startswith("test_")]
    assert len(names) == 2
    for name in names:
        getattr(written, name)()


def test_its_example_is_right(written):
    import doctest

    assert doctest.testmod(written).failed == 0
    assert doctest.testmod(written).attempted >= 2
