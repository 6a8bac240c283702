"""The datasets of the UCI repository that the papers use."""

from __future__ import annotations

from dempster.datasets.records import DatasetRecord, OpenMLCopy, Preparation

__all__ = ["UCI_RECORDS"]

_UCI = "https://archive.ics.uci.edu"
_LEAVES = (
    "C. Mallah, J. Cope, J. Orwell. Plant leaf classification using probabilistic integration of shape, texture and "
    "margin features. Signal Processing, Pattern Recognition and Applications, 2013."
)


def _leaves(attribute: str, n_samples: int, data_id: int) -> DatasetRecord:
    return DatasetRecord(
        f"leaves_{attribute}",
        f"One-hundred plant species leaves, {attribute}",
        n_samples,
        64,
        100,
        _LEAVES,
        openml=OpenMLCopy(data_id),
        homepage=_UCI,
        note=(
            "The order of the species differs between the three files: rows must not be paired across them. "
            "The copy on OpenML has numbers for names of species."
        ),
    )


UCI_RECORDS = (
    DatasetRecord(
        "ecoli",
        "Protein localisation sites in E. coli",
        336,
        7,
        8,
        "P. Horton, K. Nakai. A probabilistic classification system for predicting the cellular localization sites of "
        "proteins. Intelligent Systems in Molecular Biology, 1996.",
        class_names=("cp", "im", "pp", "imU", "om", "omL", "imL", "imS"),
        openml=OpenMLCopy(39),
        homepage=_UCI,
        note="Attributes lip and chg are nearly constant.",
        preparations={
            "paper": Preparation(
                "NN-EVCLUS: classes cp, im with imU, pp; attributes mcg, gvh, aac, alm1, alm2",
                (307, 5, 3),
                classes=(("cp", ("cp",)), ("im", ("im", "imU")), ("pp", ("pp",))),
                columns=(0, 1, 4, 5, 6),
            ),
            "k-cevclus": Preparation(
                "the size k-CEVCLUS reports, which the three largest classes cp, im and pp have",
                (272, 7, 3),
                classes=(("cp", ("cp",)), ("im", ("im",)), ("pp", ("pp",))),
            ),
        },
    ),
    DatasetRecord(
        "seeds",
        "Kernels of three varieties of wheat",
        210,
        7,
        3,
        "M. Charytanowicz et al. Complete gradient clustering algorithm for features analysis of X-ray images. "
        "Information Technologies in Biomedicine, 2010.",
        class_names=("Kama", "Rosa", "Canadian"),
        openml=OpenMLCopy(1499, ("1", "2", "3")),
        homepage=_UCI,
    ),
    DatasetRecord(
        "heart",
        "Statlog (Heart)",
        270,
        13,
        2,
        "D. Michie, D. J. Spiegelhalter, C. C. Taylor. Machine learning, neural and statistical classification, 1994.",
        class_names=("absent", "present"),
        openml=OpenMLCopy(53),
        homepage=_UCI,
        note="Real, ordinal and binary attributes on very different scales.",
    ),
    DatasetRecord(
        "glass",
        "Glass identification",
        214,
        9,
        6,
        "I. W. Evett, E. J. Spiehler. Rule induction in forensic science. Central Research Establishment, 1987.",
        class_names=(
            "building windows float",
            "building windows non-float",
            "vehicle windows float",
            "containers",
            "tableware",
            "headlamps",
        ),
        openml=OpenMLCopy(
            41,
            (
                "build wind float",
                "build wind non-float",
                "vehic wind float",
                "containers",
                "tableware",
                "headlamps",
            ),
        ),
        homepage=_UCI,
        preparations={
            "k-cevclus": Preparation(
                "two classes, as k-CEVCLUS reports; taken to be window glass against other glass",
                (214, 9, 2),
                classes=(
                    (
                        "window",
                        ("building windows float", "building windows non-float", "vehicle windows float"),
                    ),
                    ("other", ("containers", "tableware", "headlamps")),
                ),
            ),
            "four-classes": Preparation(
                "after Ripley (1994): without headlamps, containers merged with tableware",
                (185, 9, 4),
                classes=(
                    ("window float", ("building windows float",)),
                    ("window non-float", ("building windows non-float",)),
                    ("vehicle window", ("vehicle windows float",)),
                    ("other", ("containers", "tableware")),
                ),
            ),
        },
    ),
    DatasetRecord(
        "letter",
        "Letter recognition",
        20000,
        16,
        26,
        "P. W. Frey, D. J. Slate. Letter recognition using Holland-style adaptive classifiers. Machine Learning 6, "
        "1991.",
        class_names=tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        openml=OpenMLCopy(6),
        homepage=_UCI,
        preparations={
            "paper": Preparation(
                "k-CEVCLUS: letters I, J and L", (2263, 16, 3), classes=tuple((letter, (letter,)) for letter in "IJL")
            )
        },
    ),
    DatasetRecord(
        "segment",
        "Image segmentation",
        2310,
        19,
        7,
        "Vision Group, University of Massachusetts, 1990.",
        class_names=("brickface", "sky", "foliage", "cement", "window", "path", "grass"),
        openml=OpenMLCopy(36),
        homepage=_UCI,
        note="Attribute region-pixel-count is constant.",
        preparations={
            "paper": Preparation(
                "NN-EVCLUS reports 16 attributes; taken to be all but the first three (position, number of pixels)",
                (2310, 16, 7),
                columns=tuple(range(3, 19)),
            )
        },
    ),
    DatasetRecord(
        "dry_bean",
        "Dry bean",
        13611,
        16,
        7,
        "M. Koklu, I. A. Ozkan. Multiclass classification of dry beans using computer vision and machine learning "
        "techniques. Computers and Electronics in Agriculture 174, 2020.",
        file="drybean",
        class_names=("BARBUNYA", "BOMBAY", "CALI", "DERMASON", "HOROZ", "SEKER", "SIRA"),
        homepage=f"{_UCI}/dataset/602",
        note="Attributes on very different scales.",
        preparations={
            "paper": Preparation("NN-EVCLUS: 200 objects of each class, drawn at random", (1400, 16, 7), per_class=200)
        },
    ),
    DatasetRecord(
        "mice_protein",
        "Mice protein expression",
        1080,
        77,
        8,
        "C. Higuera, K. J. Gardiner, K. J. Cios. Self-organizing feature maps identify proteins critical to learning "
        "in a mouse model of Down syndrome. PLoS ONE 10, 2015.",
        file="mice",
        class_names=("c-CS-m", "c-CS-s", "c-SC-m", "c-SC-s", "t-CS-m", "t-CS-s", "t-SC-m", "t-SC-s"),
        openml=OpenMLCopy(40966),
        homepage=_UCI,
        note="1396 missing values (NaN); 15 measurements of each of 72 mice.",
        preparations={
            "complete": Preparation(
                "without the 3 objects that have more than 10 missing values, then without the 9 incomplete proteins",
                (1077, 68, 8),
                max_missing=10,
            ),
            "trisomic": Preparation(
                "the objects and classes of NN-EVCLUS: trisomic mice, t-CS as one class; with all complete proteins, "
                "not the 22 of the paper, which does not list them",
                (507, 71, 3),
                classes=(("t-SC-m", ("t-SC-m",)), ("t-SC-s", ("t-SC-s",)), ("t-CS", ("t-CS-m", "t-CS-s"))),
                max_missing=10,
            ),
        },
    ),
    _leaves("margin", 1600, 1491),
    _leaves("shape", 1600, 1492),
    _leaves("texture", 1599, 1493),
    DatasetRecord(
        "vowel",
        "Vowels of British English (Deterding)",
        990,
        10,
        11,
        "D. H. Deterding. Speaker normalisation for automatic speech recognition. PhD thesis, Cambridge, 1989.",
        class_names=("hid", "hId", "hEd", "hAd", "hYd", "had", "hOd", "hod", "hUd", "hud", "hed"),
        openml=OpenMLCopy(307),
        homepage=_UCI,
        note="6 repetitions of each vowel by each of 15 speakers: objects are not independent.",
    ),
    DatasetRecord(
        "ionosphere",
        "Ionosphere",
        351,
        34,
        2,
        "V. G. Sigillito et al. Classification of radar returns from the ionosphere using neural networks. Johns "
        "Hopkins APL Technical Digest 10, 1989.",
        class_names=("good", "bad"),
        openml=OpenMLCopy(59, ("g", "b")),
        homepage=_UCI,
        note="The second attribute is constant.",
    ),
    DatasetRecord(
        "vehicle",
        "Statlog (Vehicle silhouettes)",
        846,
        18,
        4,
        "J. P. Siebert. Vehicle recognition using rule based methods. Turing Institute, 1987.",
        file="vehicles",
        class_names=("opel", "saab", "bus", "van"),
        openml=OpenMLCopy(54),
        homepage=_UCI,
    ),
    DatasetRecord(
        "satellite",
        "Statlog (Landsat satellite)",
        6435,
        36,
        6,
        "D. Michie, D. J. Spiegelhalter, C. C. Taylor. Machine learning, neural and statistical classification, 1994.",
        class_names=(
            "cotton crop",
            "damp grey soil",
            "grey soil",
            "red soil",
            "vegetation stubble",
            "very damp grey soil",
        ),
        # satellite_image, classes as numbers: satimage (182) lacks five objects.
        openml=OpenMLCopy(294, ("2", "4", "3", "1", "5", "7")),
        homepage=_UCI,
        note="3 x 3 pixels in 4 bands; attributes 16 to 19 are the central pixel.",
    ),
    DatasetRecord(
        "pendigits",
        "Pen-based recognition of handwritten digits",
        10992,
        16,
        10,
        "F. Alimoglu, E. Alpaydin. Methods of combining multiple classifiers based on different representations for "
        "pen-based handwriting recognition, 1996.",
        class_names=tuple("0123456789"),
        openml=OpenMLCopy(32),
        homepage=_UCI,
    ),
    DatasetRecord(
        "shuttle",
        "Statlog (Shuttle)",
        58000,
        9,
        7,
        "D. Michie, D. J. Spiegelhalter, C. C. Taylor. Machine learning, neural and statistical classification, 1994.",
        class_names=("Bpv.Close", "Bpv.Open", "Bypass", "Fpv.Close", "Fpv.Open", "High", "Rad.Flow"),
        openml=OpenMLCopy(40685, ("6", "7", "5", "2", "3", "4", "1")),
        homepage=_UCI,
        note="Very unbalanced: 45586 objects are in class Rad.Flow, 10 in class Bpv.Close.",
    ),
)
