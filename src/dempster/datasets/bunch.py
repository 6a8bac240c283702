"""One way to hand over a dataset: scikit-learn's ``Bunch``, as arrays or as pandas objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_flags

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def default_feature_names(n_features: int) -> list[str]:
    """Names ``x1, x2, ...`` for attributes that have none."""
    return [f"x{j + 1}" for j in range(n_features)]


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
    """Assemble a dataset the way scikit-learn's loaders do.

    Parameters
    ----------
    data : ndarray of shape (n, d) or None
        Attributes; None for dissimilarity data.
    target : ndarray of shape (n,) or None
        Integer classes; None for data without reference labels.
    description : str
        Becomes ``DESCR``.
    target_names, feature_names : sequence of str, optional
        Names of the classes and of the attributes (``x1, x2, ...`` if not given).
    dissimilarities : ndarray of shape (n, n), optional
        Only for dissimilarity data.
    return_X_y : bool
        Return the pair ``(data or dissimilarities, target)`` instead.
    as_frame : bool
        Return pandas objects, and ``frame`` with both in the Bunch. Only for attribute data.
    **extras
        Further fields of the Bunch.

    Returns
    -------
    Bunch or tuple
    """
    from sklearn.utils import Bunch

    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    frame = None
    matrix: Any = data
    labels: Any = target
    names = None
    if data is not None:
        names = list(feature_names) if feature_names is not None else default_feature_names(data.shape[1])
    if as_frame:
        if data is None:
            raise InvalidInputError("as_frame=True needs attribute data; this dataset is a matrix of dissimilarities")
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
