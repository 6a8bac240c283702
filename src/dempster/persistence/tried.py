"""Models that were read are tried once, on one object, so that a part that is missing is told by name when a file is
read, and not by whatever fails first when the model is used."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError

__all__ = ["try_model"]

_METHODS = ("predict_mass", "transform", "predict")
_OF_PARTS = (AttributeError, IndexError, KeyError, TypeError, ZeroDivisionError)  # what fails without words of ours
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
    except _OF_PARTS as error:
        frames = traceback.walk_tb(error.__traceback__)
        of_torch = any(frame.f_globals.get("__name__", "").startswith("torch.") for frame, _ in frames)
        if of_torch or " must " in str(error):  # which is how the library says what it wants
            return
        lacks = error.name if isinstance(error, AttributeError) and error.obj is model else None
        raise InvalidInputError(f"it lacks {lacks!r}" if lacks else "its parts do not fit together") from error
    except Exception:  # what is said of the object: it is the user's to hear of theirs
        return


def _one_object(model: Any, width: int) -> Any:
    import pandas as pd

    names = getattr(model, "feature_names_in_", None)
    columns = None if names is None else pd.Index(names)
    if len(getattr(model, "categories_", ())) == width:
        return pd.DataFrame([[known[0] for known in model.categories_]], columns=columns)
    row = np.zeros((1, width))
    return row if names is None else pd.DataFrame(row, columns=columns)
