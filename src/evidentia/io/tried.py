"""Models that were read are tried once, on one object, so that a part that is missing is told by name when a file is
read, and not by whatever fails first when the model is used."""

from __future__ import annotations

import dis
import traceback
from typing import Any

import numpy as np

__all__ = ["try_model"]

_METHODS = ("predict_mass", "transform", "predict")
_WIDEST = 1_000_000  # attributes of the object that is tried


def try_model(model: Any) -> None:
    """Refuse a fitted model that fails on an object of zeros for want of a part, or as parts do not fit together.

    What it says of the object in words, that it is too far away for instance, is not looked at, nor what fails in
    networks that are the user's own.
    """
    width = getattr(model, "n_features_in_", None)
    method = next((name for name in _METHODS if hasattr(model, name)), None)
    if width is None or method is None or not 0 < width <= _WIDEST:
        return
    try:
        getattr(model, method)(_one_object(model, int(width)))
    except Exception as error:
        if _fails_by_itself(error):
            lacks = error.name if isinstance(error, AttributeError) and error.obj is model else None
            raise ValueError(f"it lacks {lacks!r}" if lacks else "its parts do not fit together") from error


def _one_object(model: Any, width: int) -> Any:
    import pandas as pd

    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else pd.Index(names)
    if len(getattr(model, "categories_", ())) == width:
        return pd.DataFrame([[known[0] for known in model.categories_]], columns=columns)
    row = np.zeros((1, width))
    return row if names is None else pd.DataFrame(row, columns=columns)


def _fails_by_itself(error: Exception) -> bool:
    """Whether code of ours fails, or what it calls, other than by saying in words what is wrong with an object."""
    frames = [(frame, frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(error.__traceback__)]
    if any(name.split(".")[0] == "torch" for _, name in frames):
        return False
    if isinstance(error, AttributeError | IndexError | KeyError):
        return True
    frame, name = frames[-1]
    said = dis.opname[frame.f_code.co_code[_last(error)]] in ("RAISE_VARARGS", "RERAISE")
    return name.split(".")[0] == "evidentia" and not said


def _last(error: Exception) -> int:
    """Where the innermost function was when it failed."""
    found = error.__traceback__
    while found is not None and found.tb_next is not None:
        found = found.tb_next
    return -1 if found is None else found.tb_lasti
