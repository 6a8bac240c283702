"""The 14 covariance models: names, constraints, numbers of free parameters."""

from __future__ import annotations

from dempster._errors import InvalidInputError

__all__ = ["MODELS", "DIAGONAL_MODELS", "model_name", "n_parameters"]

MODELS = (
    "EII",
    "VII",
    "EEI",
    "VEI",
    "EVI",
    "VVI",
    "EEE",
    "VEE",
    "EVE",
    "VVE",
    "EEV",
    "VEV",
    "EVV",
    "VVV",
)
DIAGONAL_MODELS = MODELS[:6]

_ONE_DIMENSIONAL = {"E": "EII", "V": "VII"}


def model_name(name: str, n_features: int) -> str:
    """The name of a covariance model as in `MODELS`; with one attribute also "E" and "V".

    >>> model_name("VEV", 4), model_name("E", 1)
    ('VEV', 'EII')
    """
    if name in MODELS:
        return name
    if n_features == 1 and name in _ONE_DIMENSIONAL:
        return _ONE_DIMENSIONAL[name]
    hint = " (E and V name models of data with one attribute)" if name in _ONE_DIMENSIONAL else ""
    raise InvalidInputError(f"model must be one of {', '.join(MODELS)}, got {name!r}{hint}")


def n_parameters(model: str, n_components: int, n_features: int) -> int:
    """Free parameters of a mixture: proportions, means, covariances (Celeux and Govaert, 1995, table 1).

    Parameters
    ----------
    model : str
        One of `MODELS`.
    n_components, n_features : int

    Returns
    -------
    int

    Examples
    --------
    >>> n_parameters("VVV", 3, 4), n_parameters("EII", 3, 4)
    (44, 15)
    """
    g, d = n_components, n_features
    volume, shape, orientation = tuple(model)
    count = g if volume == "V" else 1
    count += {"I": 0, "E": 1, "V": g}[shape] * (d - 1)
    count += {"I": 0, "E": 1, "V": g}[orientation] * (d * (d - 1) // 2)
    return (g - 1) + g * d + count
