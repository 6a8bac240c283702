"""Start Python in a web worker, answer requests of the studio, and run cells of the documentation.

`worker.js` imports this module. It is not a part of the package.
"""

import contextlib
import io
import os
import sys
import traceback
import warnings
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

# Slow modules that scikit-learn imports at the top, with the names that it imports from them and
# that few functions use.
POSTPONED = {
    "numpy.f2py": (),
    "pandas": (),
    "scipy.fft": (),
    "scipy.integrate": ("trapezoid",),
    "scipy.interpolate": ("BSpline",),
    "scipy.optimize": ("linear_sum_assignment", "linprog", "minimize"),
    "scipy.stats": ("chi2", "gmean", "rankdata"),
}


class Postponed:
    """Attribute of a module, which is imported when the attribute is used."""

    def __init__(self, module, name):
        self._get = lambda: getattr(module._execute(), name)

    def __call__(self, *args, **kwargs):
        return self._get()(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._get(), name)


def postpone(name, attributes):
    """Put a module into ``sys.modules`` that is executed when it is used.

    Reading one of the given attributes does not execute it.
    """
    spec = find_spec(name)
    module = module_from_spec(spec)

    def execute():
        if "__getattr__" in vars(module):
            del module.__getattr__
            spec.loader.exec_module(module)
        return module

    def get(attribute):
        if attribute in attributes:
            return Postponed(module, attribute)
        return getattr(execute(), attribute)

    module._execute = execute
    module.__getattr__ = get
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, module)


for _name, _attributes in POSTPONED.items():
    postpone(_name, _attributes)

# anyio, on which starlette depends, imports it for encrypted connections. There are none.
sys.modules["ssl"] = ModuleType("ssl")


# ---- the studio ----------------------------------------------------------------------------------

_studio = None


def start(report):
    """Import the studio. ``report`` is called with the description of a running job."""
    global _studio
    from dempster.apps.studio.in_page import PageStudio

    _studio = PageStudio(Path("/sessions"), report)


async def answer(method, path, headers, body):
    """Return the status, headers and body of the answer to a request."""
    return await _studio.answer(
        method, path, headers.to_py(), body.to_bytes() if body else b""
    )


def save():
    """Return the session as a file, or None if it has no table."""
    return _studio.save()


def restore(content):
    """Open a session that `save` returned."""
    _studio.restore(content.to_bytes())


# ---- cells ---------------------------------------------------------------------------------------

os.environ["MPLBACKEND"] = "Agg"
_variables = {"__name__": "__main__"}


def run_cell(code):
    """Run code; return its output, its figures as PNG, and whether it failed.

    All cells of a page use the same variables. The value of a last line without assignment is
    printed like in a notebook.
    """
    printed = io.StringIO()
    failed = False
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        warnings.simplefilter("default")
        try:
            exec(compile(code, "<cell>", "exec"), _variables)
        except BaseException as error:
            failed = True
            lines = traceback.format_exception(error)
            own = next(
                (k for k, line in enumerate(lines) if "<cell>" in line), 1
            )
            print("".join([*lines[:1], *lines[own:]]), end="")
    return {
        "printed": printed.getvalue(),
        "pictures": _pictures(),
        "failed": failed,
    }


def _pictures():
    """Return the open figures as PNG, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    pictures = []
    for number in pyplot.get_fignums():
        content = io.BytesIO()
        pyplot.figure(number).savefig(
            content, format="png", bbox_inches="tight"
        )
        pictures.append(content.getvalue())
    pyplot.close("all")
    return pictures
