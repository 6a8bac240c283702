"""What every display has in common."""

import inspect

import pytest

from dempster import plot

DISPLAYS = [getattr(plot, name) for name in plot.__all__ if name.endswith("Display")]
DRAWING = [
    (display, name)
    for display in DISPLAYS
    for name, _ in inspect.getmembers(display, callable)
    if name == "plot" or name.startswith("from_")
]


@pytest.mark.parametrize(("display", "name"), DRAWING, ids=lambda x: getattr(x, "__name__", x))
def test_axes_are_given_by_keyword(display, name):
    parameters = inspect.signature(getattr(display, name)).parameters
    where = [parameters[key] for key in ("ax", "axes") if key in parameters]
    assert where
    assert all(p.kind is p.KEYWORD_ONLY and p.default is None for p in where)


@pytest.mark.parametrize("display", DISPLAYS, ids=lambda display: display.__name__)
def test_parameters_have_one_order(display):
    """The constructor takes keywords only; `plot` takes the axes first and the title last; what computes takes what it
    draws from first, the axes after its own options, and hands the rest to `plot`."""
    made = list(inspect.signature(display).parameters.values())
    assert all(p.kind is p.KEYWORD_ONLY for p in made)
    drawn = list(inspect.signature(display.plot).parameters)
    assert drawn[1] in ("ax", "axes")
    assert drawn[-1] == "title"
    for _, name in [pair for pair in DRAWING if pair[0] is display and pair[1] != "plot"]:
        names = list(inspect.signature(getattr(display, name)).parameters)
        assert names[-2] in ("ax", "axes")
        assert names[-1] == "options"
