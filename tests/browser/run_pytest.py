"""Run tests of the package in Pyodide. The parameters are the folders of pytest and of the checkout, and the tests."""

import os
import sys

packages, root, *tests = parameters  # noqa: F821  # of run.mjs
sys.path.append(f"/host{packages}")
sys.dont_write_bytecode = True
# The plugin of anyio needs the module ssl.
os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
os.chdir(f"/host{root}")
sys.path.insert(0, f"/host{root}")

import pytest  # noqa: E402

status = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-o", "addopts=", *tests])
assert status == 0, f"pytest ended with the status {status}"
