"""Public datasets of the papers on evidential clustering, with their sources, sizes and published versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_UCI = "https://archive.ics.uci.edu"


@dataclass(frozen=True)
class DatasetVersion:
    """Version of a dataset that is derived from the original in the following steps.

    ``classes`` selects and merges classes; it maps each new name to the original names.
    ``max_missing`` removes all rows with more missing values than this number, and then all columns
    that still contain missing values. ``columns`` selects columns. ``per_class`` draws this number
    of rows from each class.
    """

    description: str
    shape: tuple[int, int, int]
    classes: Mapping[str, tuple[str, ...]] | None = None
    max_missing: int | None = None
    columns: tuple[int, ...] | None = None
    per_class: int | None = None


@dataclass(frozen=True)
class DatasetRecord:
    """Description of a public dataset.

    ``shape`` contains the numbers of objects, attributes (0 for dissimilarities) and classes (0 if
    there are no labels) of the original version. If the labels on openml.org differ from
    ``class_names``, ``openml_labels`` contains them in the same order.
    """

    name: str
    title: str
    shape: tuple[int, int, int]
    citation: str
    homepage: str = _UCI
    file: str = ""
    class_names: tuple[str, ...] | None = None
    openml_id: int | None = None
    openml_labels: tuple[str, ...] | None = None
    note: str = ""
    dissimilarities: bool = False
    preparations: Mapping[str, DatasetVersion] = field(default_factory=dict)

    @property
    def n_classes(self) -> int:
        return self.shape[2]

    @property
    def file_name(self) -> str:
        """File name of the local copy in the folder ``data``."""
        return f"{self.file or self.name}.npz"

    @property
    def versions(self) -> tuple[str, ...]:
        """Valid values of ``version``."""
        return ("original", *self.preparations)


_STATLOG = "D. Michie, D. J. Spiegelhalter, C. C. Taylor. Machine learning, neural and statistical classification, 1994."
_MCLUST = "https://cran.r-project.org/package=mclust"

_RECORDS = (
    DatasetRecord(
        "ecoli",
        "Protein localization sites in E. coli",
        (336, 7, 8),
        openml_id=39,
        citation="P. Horton, K. Nakai. A probabilistic classification system for predicting the cellular "
        "localization sites of proteins. Intelligent Systems in Molecular Biology, 1996.",
        class_names=("cp", "im", "pp", "imU", "om", "omL", "imL", "imS"),
        note="Attributes lip and chg are nearly constant.",
        preparations={
            "paper": DatasetVersion(
                "NN-EVCLUS: classes cp, im with imU, pp; attributes mcg, gvh, aac, alm1, alm2",
                (307, 5, 3),
                columns=(0, 1, 4, 5, 6),
                classes={"cp": ("cp",), "im": ("im", "imU"), "pp": ("pp",)},
            ),
            "k-cevclus": DatasetVersion(
                "the size k-CEVCLUS reports, which the three largest classes cp, im and pp have",
                (272, 7, 3),
                classes={"cp": ("cp",), "im": ("im",), "pp": ("pp",)},
            ),
        },
    ),
    DatasetRecord(
        "seeds",
        "Kernels of three varieties of wheat",
        (210, 7, 3),
        openml_id=1499,
        citation="M. Charytanowicz et al. Complete gradient clustering algorithm for features analysis of X-ray "
        "images. Information Technologies in Biomedicine, 2010.",
        class_names=("Kama", "Rosa", "Canadian"),
        openml_labels=("1", "2", "3"),
    ),
    DatasetRecord(
        "heart",
        "Statlog (Heart)",
        (270, 13, 2),
        openml_id=53,
        citation=_STATLOG,
        class_names=("absent", "present"),
        note="Real, ordinal and binary attributes on very different scales.",
    ),
    DatasetRecord(
        "glass",
        "Glass identification",
        (214, 9, 6),
        openml_id=41,
        citation="I. W. Evett, E. J. Spiehler. Rule induction in forensic science. Central Research Establishment, "
        "1987.",
        class_names=(
            "building windows float",
            "building windows non-float",
            "vehicle windows float",
            "containers",
            "tableware",
            "headlamps",
        ),
        openml_labels=(
            "build wind float",
            "build wind non-float",
            "vehic wind float",
            "containers",
            "tableware",
            "headlamps",
        ),
        preparations={
            "k-cevclus": DatasetVersion(
                "two classes, as k-CEVCLUS reports; taken to be window glass against other glass",
                (214, 9, 2),
                classes={
                    "window": (
                        "building windows float",
                        "building windows non-float",
                        "vehicle windows float",
                    ),
                    "other": ("containers", "tableware", "headlamps"),
                },
            ),
            "four-classes": DatasetVersion(
                "after Ripley (1994): without headlamps, containers merged with tableware",
                (185, 9, 4),
                classes={
                    "window float": ("building windows float",),
                    "window non-float": ("building windows non-float",),
                    "vehicle window": ("vehicle windows float",),
                    "other": ("containers", "tableware"),
                },
            ),
        },
    ),
    DatasetRecord(
        "letter",
        "Letter recognition",
        (20000, 16, 26),
        openml_id=6,
        citation="P. W. Frey, D. J. Slate. Letter recognition using Holland-style adaptive classifiers. Machine "
        "Learning 6, 1991.",
        class_names=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        preparations={
            "paper": DatasetVersion(
                "k-CEVCLUS: letters I, J and L",
                (2263, 16, 3),
                classes={"I": ("I",), "J": ("J",), "L": ("L",)},
            ),
        },
    ),
    DatasetRecord(
        "segment",
        "Image segmentation",
        (2310, 19, 7),
        openml_id=36,
        citation="Vision Group, University of Massachusetts, 1990.",
        class_names=("brickface", "sky", "foliage", "cement", "window", "path", "grass"),
        note="Attribute region-pixel-count is constant.",
        preparations={
            "paper": DatasetVersion(
                "NN-EVCLUS reports 16 attributes; taken to be all but the first three (position, number of pixels)",
                (2310, 16, 7),
                columns=tuple(range(3, 19)),
            ),
        },
    ),
    DatasetRecord(
        "dry_bean",
        "Dry bean",
        (13611, 16, 7),
        file="drybean",
        citation="M. Koklu, I. A. Ozkan. Multiclass classification of dry beans using computer vision and machine "
        "learning techniques. Computers and Electronics in Agriculture 174, 2020.",
        homepage=f"{_UCI}/dataset/602",
        class_names=("BARBUNYA", "BOMBAY", "CALI", "DERMASON", "HOROZ", "SEKER", "SIRA"),
        note="Attributes on very different scales.",
        preparations={
            "paper": DatasetVersion(
                "NN-EVCLUS: 200 objects of each class, drawn at random",
                (1400, 16, 7),
                per_class=200,
            ),
        },
    ),
    DatasetRecord(
        "mice_protein",
        "Mice protein expression",
        (1080, 77, 8),
        file="mice",
        openml_id=40966,
        citation="C. Higuera, K. J. Gardiner, K. J. Cios. Self-organizing feature maps identify proteins critical "
        "to learning in a mouse model of Down syndrome. PLoS ONE 10, 2015.",
        class_names=(
            "c-CS-m",
            "c-CS-s",
            "c-SC-m",
            "c-SC-s",
            "t-CS-m",
            "t-CS-s",
            "t-SC-m",
            "t-SC-s",
        ),
        note="1396 missing values (NaN); 15 measurements of each of 72 mice.",
        preparations={
            "complete": DatasetVersion(
                "without the 3 objects that have more than 10 missing values, then without the 9 incomplete proteins",
                (1077, 68, 8),
                max_missing=10,
            ),
            "trisomic": DatasetVersion(
                "the objects and classes of NN-EVCLUS: trisomic mice, t-CS as one class; with all complete "
                "proteins, not the 22 of the paper, which does not list them",
                (507, 71, 3),
                max_missing=10,
                classes={
                    "t-SC-m": ("t-SC-m",),
                    "t-SC-s": ("t-SC-s",),
                    "t-CS": ("t-CS-m", "t-CS-s"),
                },
            ),
        },
    ),
    *(
        DatasetRecord(
            f"leaves_{kind}",
            f"One-hundred plant species leaves, {kind}",
            (n, 64, 100),
            openml_id=openml_id,
            citation="C. Mallah, J. Cope, J. Orwell. Plant leaf classification using probabilistic integration of "
            "shape, texture and margin features. Signal Processing, Pattern Recognition and Applications, "
            "2013.",
            note="The order of the species differs between the three files: rows must not be paired across them. "
            "The copy on OpenML has numbers for names of species.",
        )
        for kind, n, openml_id in (
            ("margin", 1600, 1491),
            ("shape", 1600, 1492),
            ("texture", 1599, 1493),
        )
    ),
    DatasetRecord(
        "vowel",
        "Vowels of British English (Deterding)",
        (990, 10, 11),
        openml_id=307,
        citation="D. H. Deterding. Speaker normalisation for automatic speech recognition. PhD thesis, Cambridge, "
        "1989.",
        class_names=("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed"),
        note="6 repetitions of each vowel by each of 15 speakers: objects are not independent.",
    ),
    DatasetRecord(
        "ionosphere",
        "Ionosphere",
        (351, 34, 2),
        openml_id=59,
        citation="V. G. Sigillito et al. Classification of radar returns from the ionosphere using neural networks."
        " Johns Hopkins APL Technical Digest 10, 1989.",
        class_names=("good", "bad"),
        openml_labels=("g", "b"),
        note="The second attribute is constant.",
    ),
    DatasetRecord(
        "vehicle",
        "Statlog (Vehicle silhouettes)",
        (846, 18, 4),
        file="vehicles",
        openml_id=54,
        citation="J. P. Siebert. Vehicle recognition using rule based methods. Turing Institute, 1987.",
        class_names=("opel", "saab", "bus", "van"),
    ),
    DatasetRecord(
        "satellite",
        "Statlog (Landsat satellite)",
        (6435, 36, 6),
        openml_id=294,
        citation=_STATLOG,
        class_names=(
            "cotton crop",
            "damp grey soil",
            "grey soil",
            "red soil",
            "vegetation stubble",
            "very damp grey soil",
        ),
        openml_labels=tuple("243157"),
        note="3 x 3 pixels in 4 bands; attributes 16 to 19 are the central pixel.",
    ),
    DatasetRecord(
        "pendigits",
        "Pen-based recognition of handwritten digits",
        (10992, 16, 10),
        openml_id=32,
        citation="F. Alimoglu, E. Alpaydin. Methods of combining multiple classifiers based on different "
        "representations for pen-based handwriting recognition, 1996.",
        class_names=tuple("0123456789"),
    ),
    DatasetRecord(
        "shuttle",
        "Statlog (Shuttle)",
        (58000, 9, 7),
        openml_id=40685,
        citation=_STATLOG,
        class_names=(
            "Bpv.Close",
            "Bpv.Open",
            "Bypass",
            "Fpv.Close",
            "Fpv.Open",
            "High",
            "Rad.Flow",
        ),
        openml_labels=tuple("6752341"),
        note="Very unbalanced: 45586 objects are in class Rad.Flow, 10 in class Bpv.Close.",
    ),
    DatasetRecord(
        "diabetes_reaven",
        "Diabetes of Reaven and Miller",
        (145, 3, 3),
        file="diabetes",
        citation="G. M. Reaven, R. G. Miller. An attempt to define the nature of chemical diabetes using a "
        "multidimensional analysis. Diabetologia 16, 1979.",
        homepage=_MCLUST,
        class_names=("Chemical", "Normal", "Overt"),
    ),
    *(
        DatasetRecord(
            f"gvhd_{kind}",
            f"Graft-versus-host disease, {kind} patient",
            (n, 4, 0),
            file=file,
            citation="R. R. Brinkman et al. High-content flow cytometry and temporal data analysis for defining a "
            "cellular signature of graft-versus-host disease. Biology of Blood and Marrow Transplantation 13, "
            "2007.",
            homepage=_MCLUST,
            note="Flow cytometry: CD4, CD8b, CD3, CD8. No labels.",
        )
        for kind, n, file in (("positive", 9083, "gvhd_pos"), ("control", 6809, "gvhd_control"))
    ),
    DatasetRecord(
        "protein",
        "Protein dissimilarities",
        (213, 0, 4),
        dissimilarities=True,
        citation="T. Hofmann, J. M. Buhmann. Pairwise data clustering by deterministic annealing. IEEE PAMI 19, "
        "1997. T. Graepel et al. Classification on pairwise proximity data. NIPS 11, 1999.",
        homepage="https://cran.r-project.org/package=evclust",
        class_names=("HA", "HB", "M", "G"),
        note="Symmetric, zero diagonal. Haemoglobin alpha and beta, myoglobin, heterogeneous globins.",
    ),
    # Two-dimensional sets of the clustering benchmark of the University of Eastern Finland.
    *(
        DatasetRecord(
            title.lower().replace("path-", "path").replace(" ", ""),
            title,
            (n, 2, c),
            citation=f"{reference}. Collected by P. Franti, S. Sieranoja. K-means properties on six clustering "
            "benchmark datasets. Applied Intelligence 48, 2018.",
            homepage="https://cs.uef.fi/sipu/datasets/",
        )
        for title, n, c, reference in (
            *(
                (
                    f"S{k}",
                    5000,
                    15,
                    "P. Franti, O. Virmajoki. Iterative shrinking method for clustering problems. "
                    "Pattern Recognition 39, 2006",
                )
                for k in (1, 2, 3, 4)
            ),
            *(
                (
                    title,
                    n,
                    c,
                    "I. Karkkainen, P. Franti. Dynamic local search algorithm for the clustering problem, 2002",
                )
                for title, n, c in (("A1", 3000, 20), ("A2", 5250, 35), ("A3", 7500, 50))
            ),
            ("Birch 1", 100_000, 100, "T. Zhang, R. Ramakrishnan, M. Livny. BIRCH, 1997"),
            ("Unbalance", 6500, 8, "M. Rezaei, P. Franti. Set matching measures, 2016"),
            *(
                (
                    title,
                    n,
                    c,
                    "C. J. Veenman, M. J. T. Reinders, E. Backer. A maximum variance cluster algorithm. IEEE "
                    "PAMI 24, 2002",
                )
                for title, n, c in (("D31", 3100, 31), ("R15", 600, 15))
            ),
            (
                "Aggregation",
                788,
                7,
                "A. Gionis, H. Mannila, P. Tsaparas. Clustering aggregation, 2007",
            ),
            ("Compound", 399, 6, "C. T. Zahn. Graph-theoretical methods, 1971"),
            ("Flame", 240, 2, "L. Fu, E. Medico. FLAME, 2007"),
            ("Jain", 373, 2, "A. K. Jain, M. H. C. Law. Data clustering: a user's dilemma, 2005"),
            *(
                (
                    title,
                    n,
                    3,
                    "H. Chang, D.-Y. Yeung. Robust path-based spectral clustering. Pattern Recognition 41, "
                    "2008",
                )
                for title, n in (("Path-based", 300), ("Spiral", 312))
            ),
        )
    ),
)

CATALOGUE = {record.name: record for record in _RECORDS}


def dataset_names() -> list[str]:
    """Return the names of the datasets that :func:`~dempster.datasets.fetch_dataset` can fetch.

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


def describe_shape(shape: tuple[int, int, int]) -> str:
    """Return the numbers of objects, attributes and classes as text, such as "150 objects, 4 attributes, 3 classes"."""
    n_samples, n_features, n_classes = shape
    if n_features:
        attributes = f"{n_features} attributes"
    else:
        attributes = "a matrix of dissimilarities"
    return (
        f"{n_samples} objects, {attributes}, {f'{n_classes} classes' if n_classes else 'no labels'}"
    )
