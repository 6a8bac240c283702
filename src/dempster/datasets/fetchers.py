"""Fetch the public datasets of the papers, all through one function and one catalogue.

A local copy is a file ``data/<name>.npz`` in the folder that the environment variable ``DEMPSTER_SHARED`` names. It
holds the array ``X`` (n, d) of attributes or ``D`` (n, n) of dissimilarities, and where they exist ``y`` (classes
0, 1, ...), ``names`` (of the classes) and ``columns`` (names of the attributes). Without it, scikit-learn downloads the
data from OpenML and keeps them in its own cache.
"""

from __future__ import annotations

import os
from typing import Any, Protocol

from dempster._errors import InvalidInputError
from dempster._validation import check, check_flags, choice, is_integer, shown
from dempster.datasets.bunch import to_bunch
from dempster.datasets.catalogue import CATALOGUE, find_record
from dempster.datasets.records import DatasetRecord, size_in_words
from dempster.datasets.sources import check_size, prepare, read_dataset
from dempster.io.atomic import as_path

DataHome = str | os.PathLike[str] | None


def fetch_dataset(
    name: str,
    *,
    version: str = "original",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: DataHome = None,
    random_state: Any = 0,
) -> Any:
    """Fetch a public dataset by name: a local copy if there is one, else from OpenML.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`.
    version : str, default="original"
        ``"original"``, or a preparation that a paper used and the catalogue knows.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch; ``y`` is None for data without labels, ``X`` the matrix of
        dissimilarities for dissimilarity data.
    as_frame : bool, default=False
        Return pandas objects.
    data_home : path, optional
        Where scikit-learn keeps what it downloads.
    random_state : int, RandomState, Generator or None, default=0
        For the versions that draw a part of the objects.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``target_names``, ``feature_names``, ``DESCR``, ``source`` (where the data were found),
        ``dissimilarities`` for dissimilarity data (``data`` is then None), and what else the source holds of each
        object (``train``, ``speaker``, ``mouse``).

    Raises
    ------
    DatasetNotAvailableError
        An OSError: no local copy, and OpenML does not answer or does not hold the dataset.

    Examples
    --------
    >>> from dempster.datasets import fetch_dataset
    >>> X, y = fetch_dataset("r15", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (600, 2)
    """
    record = find_record(name)
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    if not isinstance(version, str) or version not in record.versions:
        allowed = ", ".join(repr(known) for known in record.versions)
        raise InvalidInputError(f"version of dataset {name!r} must be one of {allowed}; got {shown(version)}")
    if as_frame and record.dissimilarities:
        raise InvalidInputError(f"as_frame must be False for dataset {name!r}, a matrix of dissimilarities; got True")
    raw = read_dataset(record, None if data_home is None else as_path(data_home, "data_home"))
    if version != "original":
        preparation = record.preparations[version]
        raw = prepare(raw, preparation, random_state)
        check_size(raw, preparation.shape, name)
    return to_bunch(
        None if record.dissimilarities else raw.matrix,
        raw.target,
        description=_describe(record, version),
        target_names=raw.target_names,
        feature_names=raw.feature_names,
        dissimilarities=raw.matrix if record.dissimilarities else None,
        return_X_y=return_X_y,
        as_frame=as_frame,
        source=raw.source,
        **raw.extras,
    )


def _describe(record: DatasetRecord, version: str) -> str:
    lines = [f"{record.title}: {size_in_words(record.shape)}."]
    if version != "original":
        preparation = record.preparations[version]
        lines.append(f"Version {version!r}: {preparation.description} ({size_in_words(preparation.shape)}).")
    if record.note:
        lines.append(record.note)
    lines.append(f"Reference: {record.citation}")
    if record.homepage:
        lines.append(f"Source: {record.homepage}")
    return "\n".join(lines)


class Fetcher(Protocol):
    """What every ``fetch_*`` function of one dataset accepts."""

    def __call__(
        self,
        *,
        version: str = "original",
        return_X_y: bool = False,
        as_frame: bool = False,
        data_home: DataHome = None,
    ) -> Any: ...


_DOCUMENTATION = """{title}: {size}.

    {note}

    Parameters
    ----------
    version : {{{versions}}}, default="original"
        {preparations}
    return_X_y, as_frame, data_home
        As in :func:`fetch_dataset`.

    Returns
    -------
    Bunch or tuple
        As in :func:`fetch_dataset`.

    References
    ----------
    {citation}

    Examples
    --------
    >>> from dempster.datasets import {function}
    >>> X, y = {function}(return_X_y=True)  # doctest: +SKIP
    """


def _fetcher(name: str) -> Fetcher:
    """The function that fetches one dataset, documented from its record."""

    def fetch(
        *,
        version: str = "original",
        return_X_y: bool = False,
        as_frame: bool = False,
        data_home: DataHome = None,
    ) -> Any:
        return fetch_dataset(name, version=version, return_X_y=return_X_y, as_frame=as_frame, data_home=data_home)

    record = CATALOGUE[name]
    function = f"fetch_{name}"
    versions = {version: made.description for version, made in record.preparations.items()}
    fetch.__name__ = fetch.__qualname__ = function
    fetch.__doc__ = _DOCUMENTATION.format(
        title=record.title,
        size=size_in_words(record.shape),
        note=record.note or "The data are as their source has them: not centred, scaled or imputed.",
        versions=", ".join(f'"{version}"' for version in record.versions),
        preparations="; ".join(f'"{version}": {text}' for version, text in versions.items()) or "Only the original.",
        citation=record.citation,
        function=function,
    )
    return fetch


fetch_ecoli = _fetcher("ecoli")
fetch_seeds = _fetcher("seeds")
fetch_heart = _fetcher("heart")
fetch_glass = _fetcher("glass")
fetch_letter = _fetcher("letter")
fetch_segment = _fetcher("segment")
fetch_mice_protein = _fetcher("mice_protein")
fetch_vowel = _fetcher("vowel")
fetch_ionosphere = _fetcher("ionosphere")
fetch_vehicle = _fetcher("vehicle")
fetch_satellite = _fetcher("satellite")
fetch_pendigits = _fetcher("pendigits")
fetch_shuttle = _fetcher("shuttle")
fetch_diabetes_reaven = _fetcher("diabetes_reaven")
fetch_protein = _fetcher("protein")
fetch_d31 = _fetcher("d31")
fetch_birch1 = _fetcher("birch1")


def fetch_dry_bean(
    *,
    version: str = "original",
    return_X_y: bool = False,
    as_frame: bool = False,
    data_home: DataHome = None,
    random_state: Any = 0,
) -> Any:
    """Dry bean: 13611 objects, 16 attributes, 7 classes.

    Parameters
    ----------
    version : {"original", "paper"}, default="original"
        "paper": 200 objects of each class drawn at random, as in NN-EVCLUS (which objects, the paper does not say).
    return_X_y, as_frame, data_home
        As in :func:`fetch_dataset`.
    random_state : int, RandomState, Generator or None, default=0
        Fixes which objects version "paper" draws.

    Returns
    -------
    Bunch or tuple
        As in :func:`fetch_dataset`.

    References
    ----------
    M. Koklu, I. A. Ozkan. Multiclass classification of dry beans using computer vision and machine learning
    techniques. Computers and Electronics in Agriculture 174, 2020.

    Examples
    --------
    >>> from dempster.datasets import fetch_dry_bean
    >>> X, y = fetch_dry_bean(version="paper", return_X_y=True)  # doctest: +SKIP
    """
    return fetch_dataset(
        "dry_bean",
        version=version,
        return_X_y=return_X_y,
        as_frame=as_frame,
        data_home=data_home,
        random_state=random_state,
    )


def fetch_s_set(number: int = 1, *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """S1 to S4: 5000 points of the plane in 15 Gaussian clusters, from well separated (S1) to overlapping (S4).

    Parameters
    ----------
    number : {1, 2, 3, 4}, default=1
        Which of the four sets.
    return_X_y, as_frame
        As in :func:`fetch_dataset`. Only a local copy can be read.

    Returns
    -------
    Bunch or tuple
        As in :func:`fetch_dataset`.

    References
    ----------
    P. Franti, O. Virmajoki. Iterative shrinking method for clustering problems. Pattern Recognition 39, 2006.

    Examples
    --------
    >>> from dempster.datasets import fetch_s_set
    >>> X, y = fetch_s_set(2, return_X_y=True)  # doctest: +SKIP
    """
    if not is_integer(number) or number not in (1, 2, 3, 4):
        raise InvalidInputError(f"number must be 1, 2, 3 or 4, got {shown(number)}")
    return fetch_dataset(f"s{int(number)}", return_X_y=return_X_y, as_frame=as_frame)


def fetch_leaves(
    attributes: str = "shape", *, return_X_y: bool = False, as_frame: bool = False, data_home: DataHome = None
) -> Any:
    """One-hundred plant species leaves: 1600 leaves (1599 for texture), 64 attributes, 100 species.

    Parameters
    ----------
    attributes : {"shape", "margin", "texture"}, default="shape"
        Which of the three descriptions of the leaves. Their rows do not correspond to each other.
    return_X_y, as_frame, data_home
        As in :func:`fetch_dataset`.

    Returns
    -------
    Bunch or tuple
        As in :func:`fetch_dataset`.

    References
    ----------
    C. Mallah, J. Cope, J. Orwell. Plant leaf classification using probabilistic integration of shape, texture and
    margin features. Signal Processing, Pattern Recognition and Applications, 2013.

    Examples
    --------
    >>> from dempster.datasets import fetch_leaves
    >>> X, y = fetch_leaves("margin", return_X_y=True)  # doctest: +SKIP
    """
    check(attributes, "attributes", choice("shape", "margin", "texture"))
    return fetch_dataset(f"leaves_{attributes}", return_X_y=return_X_y, as_frame=as_frame, data_home=data_home)


def fetch_gvhd(sample: str = "positive", *, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Graft-versus-host disease: cells of one patient seen by flow cytometry, 4 attributes, no labels.

    Parameters
    ----------
    sample : {"positive", "control"}, default="positive"
        The patient with the disease (9083 cells) or the one without (6809).
    return_X_y, as_frame
        As in :func:`fetch_dataset`. Only a local copy can be read.

    Returns
    -------
    Bunch or tuple
        As in :func:`fetch_dataset`.

    References
    ----------
    R. R. Brinkman et al. High-content flow cytometry and temporal data analysis for defining a cellular signature of
    graft-versus-host disease. Biology of Blood and Marrow Transplantation 13, 2007.

    Examples
    --------
    >>> from dempster.datasets import fetch_gvhd
    >>> cells = fetch_gvhd("control")  # doctest: +SKIP
    """
    check(sample, "sample", choice("positive", "control"))
    return fetch_dataset(f"gvhd_{sample}", return_X_y=return_X_y, as_frame=as_frame)
