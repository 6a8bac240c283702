"""Small datasets that need no download, including those of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import check_flags
from dempster.datasets.generators import make_fourclass

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_BUTTERFLY_X = (-5.0, -3.34, -3.34, -3.34, -1.67, 0.0, 1.67, 3.34, 3.34, 3.34, 5.0, 10.0)
_BUTTERFLY_Y = (0.0, 1.67, 0.0, -1.67, 0.0, 0.0, 0.0, -1.67, 0.0, 1.67, 0.0, 10.0)

_EXAMPLE_SEED = 2008


def load_butterfly(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load twelve points: two wings of five points each, one point between the wings, and one outlier.

    This small dataset shows the difference between a credal and a fuzzy partition: object 5 is ambiguous, object 11 is
    an outlier. There are no labels.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(X, None)`` instead of a Bunch.
    as_frame : bool, default=False
        Return the points as a pandas DataFrame.

    Returns
    -------
    Bunch
        ``data`` (12, 2), ``target`` None, ``feature_names``, ``DESCR``.

    References
    ----------
    M. P. Windham. Numerical classification of proximity data with assignment measures. Journal of Classification 2,
    1985. Adapted in M.-H. Masson, T. Denoeux, ECM, Pattern Recognition 41, 2008.

    Examples
    --------
    >>> from dempster.datasets import load_butterfly
    >>> load_butterfly().data.shape
    (12, 2)
    """
    return to_bunch(
        np.column_stack([_BUTTERFLY_X, _BUTTERFLY_Y]),
        None,
        description=(
            "Butterfly: 12 points in the plane, no labels, usually clustered into two.\n"
            "Object 5 lies halfway between the wings, object 11 is an outlier. After Windham (1985)."
        ),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_example(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the dataset of the tutorials: 400 objects in four overlapping clusters.

    It is a fixed draw of :func:`make_fourclass`, with a few outliers because of the heavy tails.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects.

    Returns
    -------
    Bunch
        ``data`` (400, 2), ``target``, ``target_names``, ``feature_names``, ``DESCR``.

    Examples
    --------
    >>> from dempster.datasets import load_example
    >>> load_example(as_frame=True).frame.columns.tolist()
    ['x1', 'x2', 'target']
    """
    X, y = make_fourclass(400, random_state=_EXAMPLE_SEED)
    return to_bunch(
        X,
        y,
        description=(
            "Example: 400 objects, 100 from each of four bivariate t distributions with five degrees of freedom,\n"
            "centered at (0, 0), (0, 4), (4, 0) and (4, 4). Simulated, a fixed draw."
        ),
        target_names=["south-west", "north-west", "south-east", "north-east"],
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def load_iris(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Fisher's iris: 150 flowers, 4 attributes, 3 species (scikit-learn's copy).

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        As in :func:`sklearn.datasets.load_iris`.

    Returns
    -------
    Bunch or tuple

    Examples
    --------
    >>> from dempster.datasets import load_iris
    >>> load_iris().data.shape
    (150, 4)
    """
    return _load_from_sklearn("load_iris", return_X_y, as_frame)


def load_wine(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load Italian wines: 178 bottles, 13 chemical attributes, 3 growers (scikit-learn's copy).

    The attributes have very different scales, so standardise them.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        As in :func:`sklearn.datasets.load_wine`.

    Returns
    -------
    Bunch or tuple

    Examples
    --------
    >>> from dempster.datasets import load_wine
    >>> load_wine().data.shape
    (178, 13)
    """
    return _load_from_sklearn("load_wine", return_X_y, as_frame)


def load_digits(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load handwritten digits: 1797 images of 8 x 8 pixels, 10 classes (scikit-learn's copy).

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        As in :func:`sklearn.datasets.load_digits`.

    Returns
    -------
    Bunch or tuple

    Examples
    --------
    >>> from dempster.datasets import load_digits
    >>> load_digits().data.shape
    (1797, 64)
    """
    return _load_from_sklearn("load_digits", return_X_y, as_frame)


def _load_from_sklearn(function: str, return_X_y: bool, as_frame: bool) -> Any:
    from sklearn import datasets

    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    return getattr(datasets, function)(return_X_y=bool(return_X_y), as_frame=bool(as_frame))


def to_bunch(
    data: np.ndarray | None,
    target: np.ndarray | None,
    *,
    description: str,
    target_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    dissimilarities: np.ndarray | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    **extras: Any,
) -> Bunch | tuple[Any, Any]:
    """Create a dataset as scikit-learn's loaders do, with arrays or pandas objects.

    ``data`` is None for dissimilarity data, ``target`` for data without labels; ``description`` becomes ``DESCR``.
    Attributes without names are called ``x1, x2, ...``.
    """
    from sklearn.utils import Bunch

    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    frame = None
    matrix: Any = data
    labels: Any = target
    names = None
    if data is not None:
        names = list(feature_names) if feature_names is not None else [f"x{j + 1}" for j in range(data.shape[1])]
    if as_frame:
        if data is None:
            raise InvalidParameterError("as_frame", "False for a matrix of dissimilarities", True)
        import pandas as pd

        matrix = pd.DataFrame(data, columns=names)
        frame = matrix
        if target is not None:
            labels = pd.Series(target, name="target")
            frame = pd.concat([matrix, labels], axis=1)
    if return_X_y:
        return (dissimilarities if data is None else matrix), labels
    if dissimilarities is not None:
        extras["dissimilarities"] = dissimilarities
    return Bunch(
        data=matrix,
        target=labels,
        frame=frame,
        target_names=None if target_names is None else np.asarray(target_names),
        feature_names=names,
        DESCR=description,
        **extras,
    )
