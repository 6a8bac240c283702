"""The public datasets that the papers use, by name."""

from __future__ import annotations

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.datasets._uci_records import UCI_RECORDS
from dempster.datasets.records import DatasetRecord

__all__ = ["CATALOGUE", "dataset_names", "find_record"]

_GVHD = (
    "R. R. Brinkman et al. High-content flow cytometry and temporal data analysis for defining a cellular signature "
    "of graft-versus-host disease. Biology of Blood and Marrow Transplantation 13, 2007."
)


def _gvhd(sample: str, file: str, n_samples: int) -> DatasetRecord:
    return DatasetRecord(
        f"gvhd_{sample}",
        f"Graft-versus-host disease, {sample} patient",
        n_samples,
        4,
        0,
        _GVHD,
        file=file,
        homepage="https://cran.r-project.org/package=mclust",
        note="Flow cytometry: CD4, CD8b, CD3, CD8. No labels.",
    )


def _benchmark(name: str, title: str, n_samples: int, n_classes: int, reference: str) -> DatasetRecord:
    """A two-dimensional set of the clustering benchmark of the University of Eastern Finland."""
    return DatasetRecord(
        name,
        title,
        n_samples,
        2,
        n_classes,
        f"{reference}. Collected by P. Franti, S. Sieranoja. K-means properties on six clustering benchmark datasets. "
        "Applied Intelligence 48, 2018.",
        homepage="https://cs.uef.fi/sipu/datasets/",
    )


_S_SETS = "P. Franti, O. Virmajoki. Iterative shrinking method for clustering problems. Pattern Recognition 39, 2006"
_A_SETS = "I. Karkkainen, P. Franti. Dynamic local search algorithm for the clustering problem, 2002"
_VEENMAN = "C. J. Veenman, M. J. T. Reinders, E. Backer. A maximum variance cluster algorithm. IEEE PAMI 24, 2002"
_CHANG = "H. Chang, D.-Y. Yeung. Robust path-based spectral clustering. Pattern Recognition 41, 2008"

_RECORDS = (
    *UCI_RECORDS,
    DatasetRecord(
        "diabetes_reaven",
        "Diabetes of Reaven and Miller",
        145,
        3,
        3,
        "G. M. Reaven, R. G. Miller. An attempt to define the nature of chemical diabetes using a multidimensional "
        "analysis. Diabetologia 16, 1979.",
        file="diabetes",
        class_names=("Chemical", "Normal", "Overt"),
        homepage="https://cran.r-project.org/package=mclust",
    ),
    _gvhd("positive", "gvhd_pos", 9083),
    _gvhd("control", "gvhd_control", 6809),
    DatasetRecord(
        "protein",
        "Protein dissimilarities",
        213,
        0,
        4,
        "T. Hofmann, J. M. Buhmann. Pairwise data clustering by deterministic annealing. IEEE PAMI 19, 1997. "
        "T. Graepel et al. Classification on pairwise proximity data. NIPS 11, 1999.",
        class_names=("HA", "HB", "M", "G"),
        homepage="https://cran.r-project.org/package=evclust",
        note="Symmetric, zero diagonal. Haemoglobin alpha and beta, myoglobin, heterogeneous globins.",
        dissimilarities=True,
    ),
    *(_benchmark(f"s{number}", f"S{number}", 5000, 15, _S_SETS) for number in (1, 2, 3, 4)),
    *(_benchmark(f"a{number}", f"A{number}", n, c, _A_SETS) for number, n, c in ((1, 3000, 20), (2, 5250, 35))),
    _benchmark("a3", "A3", 7500, 50, _A_SETS),
    _benchmark("birch1", "Birch 1", 100_000, 100, "T. Zhang, R. Ramakrishnan, M. Livny. BIRCH, 1997"),
    _benchmark("unbalance", "Unbalance", 6500, 8, "M. Rezaei, P. Franti. Set matching measures, 2016"),
    _benchmark("d31", "D31", 3100, 31, _VEENMAN),
    _benchmark("r15", "R15", 600, 15, _VEENMAN),
    _benchmark(
        "aggregation", "Aggregation", 788, 7, "A. Gionis, H. Mannila, P. Tsaparas. Clustering aggregation, 2007"
    ),
    _benchmark("compound", "Compound", 399, 6, "C. T. Zahn. Graph-theoretical methods, 1971"),
    _benchmark("flame", "Flame", 240, 2, "L. Fu, E. Medico. FLAME, 2007"),
    _benchmark("jain", "Jain", 373, 2, "A. K. Jain, M. H. C. Law. Data clustering: a user's dilemma, 2005"),
    _benchmark("pathbased", "Path-based", 300, 3, _CHANG),
    _benchmark("spiral", "Spiral", 312, 3, _CHANG),
)

CATALOGUE = {record.name: record for record in _RECORDS}


def dataset_names() -> list[str]:
    """Names that :func:`~dempster.datasets.fetch_dataset` knows.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from dempster.datasets import dataset_names
    >>> dataset_names()[:3]
    ['ecoli', 'seeds', 'heart']
    """
    return list(CATALOGUE)


def find_record(name: str) -> DatasetRecord:
    """The record of a dataset, or a ValueError that lists the names."""
    if not isinstance(name, str) or name not in CATALOGUE:
        raise InvalidInputError(f"name must be one of {', '.join(CATALOGUE)}; got {shown(name)}")
    return CATALOGUE[name]
