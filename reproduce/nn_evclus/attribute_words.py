"""Why a figure of Table 3 is far from the paper's: what was found by looking into it, and the ideas behind better ones.

Ranges are those of the adjusted Rand index, found beside the runs on the page with the seeds that are named.
"""

from __future__ import annotations

ATTRIBUTES = (
    "attributes. The paper's 22 proteins are named in a table of Higuera et al. (2015) that is not at hand; here are "
    "all 71 without missing values."
)
LETTERS = (
    "other letters. The paper does not name its six; these are A to F (4639 objects, not 4634). 1656 sets of six "
    "letters have 4634; of 32 tried EVCLUS has 0.10 to 0.63 and ECM at most 0.10, so the set cannot be told."
)
NINE = (
    "nine attributes. The paper has ten: the tenth is probably the row number, of a file sorted by class; see the "
    "rows with ten."
)
STANDARDISED = (
    "standardised. EVCLUS and NN-EVCLUS come nearer to the paper with the raw attributes, see their rows, although "
    "its ECM and CCM are those of the standardised ones."
)
SPECIES = (
    "other species. The paper does not name its twenty; these are the first. Their shape is right: with margin or "
    "texture ECM has 0.06 to 0.35 and CCM 0.09 to 0.12, far from its 0.42 and 0.25; four other sets of twenty have "
    "0.43 to 0.61 with EVCLUS (one seed)."
)
SPREAD_WEIGHTS = (
    "with ψ = 2 the weights of a cluster spread over nearly all objects and clusters coincide (the library warns, and"
    " takes 1.2 by default). Seen here: some two clusters have equal weights on Leaves5p1, Segment, DryBean and "
    "Glass."
)
METRIC = (
    "the adaptive metric follows the number of neighbours K behind the peaks, which the paper does not give (Wine: "
    "0.14 to 0.60 for K from 5 to 100; the Euclidean metric gives the paper's 0.80 at our K)."
)
BEANS_METRIC = (
    "the number of neighbours K behind the peaks, which the paper does not give: for K of 10, 37 and 100 and two "
    "draws the adaptive metric has 0.59 to 0.74, the Euclidean 0.38 to 0.63."
)
TEN = (
    "scale. The ten attributes are standardised here, which leaves the row number a tenth of the weight; with the raw"
    " ones EVCLUS reaches 0.45 to 0.56 with d0 at the 0.1, 0.2, 0.42 (ours), 0.5 or 0.9 quantile (three seeds)."
)
SIXTEEN = (
    "attributes and d0. That the paper's 16 attributes are these is a guess; EVCLUS has 0.46 to 0.53 with d0 at the "
    "0.1 quantile and 0.45 to 0.49 at ours, 0.36 (three seeds)."
)
LABELS = "the spread of trainings, as on Wine and Heart; not looked into on these data."
LABELS_WINE = (
    "the spread of trainings. Single ones have 0.79 to 0.93 (K of 10 to 40 neighbours behind the peaks, both weights "
    "of the labels), and the smallest loss does not pick the best; trained to a smaller loss (L-BFGS) the best of "
    "five has 0.88 to 0.93. K changes little."
)
LABELS_HEART = (
    "the spread of trainings. Single ones have 0.23 to 0.45; the best of five 0.28 to 0.42, depending on the number "
    "of neighbours behind the peaks and on the weight of the labels."
)
LABELS_BEANS = (
    "not explained. Varied K (10, 37, 100), d0, the weight of the labels, whole batches: 0.35 to 0.67. The peaks miss"
    " one or two of the seven species in 29 of 30 cases tried; the paper chose its centres by eye."
)
STUCK = (
    "from random weights the network loses clusters, also as the best of several by the loss (labels in use, best of "
    "two: 12 of 15 on S2, 20 of 31 on D31, 5 of 7 on DryBean); a network that starts where EVCLUS ends (ours) does "
    "not."
)

BEANS = ("DryBean", "DryBean, scaled before the draw")
REASONS: dict[tuple[str, str], str] = {
    (
        "Iris, raw",
        "EVCLUS",
    ): "d0. At the 0.9 quantile that the paper states, the best of twenty random starts is this with "
    "three seeds, and that of medoids with five; at 0.8 (ours) ARI is 0.743, at 0.62 0.756, at 0.5 0.786.",
    ("Iris, raw", "EVCLUS (ours)"): "d0. 0.743 at the 0.8 quantile (ours), 0.756 at 0.62, 0.786 at 0.5 (five seeds).",
    ("Iris, raw", "NN-EVCLUS"): "as EVCLUS: d0 at the 0.9 quantile; 0.74 to 0.77 with ours, 0.62 (three seeds).",
    (
        "Segment",
        "BootClus",
    ): "attributes. With these 16, of VVV, EEE, VEV, EEV, VVI and VII only VII can be fitted; BIC "
    "takes VEI of all fourteen. The paper's 16 may be others.",
    ("DryBean", "BootClus"): "the draw of the beans: six draws give 0.62 to 0.69 (with three samples).",
    ("DryBean", "EVCLUS"): "d0: 0.73 at the 0.2 quantile.",
    (
        "DryBean",
        "ECM",
    ): "scale, probably. Over six draws 0.61 to 0.67; standardised over all beans before the draw 0.69 to "
    "0.74. Or the paper's is the first step, with single clusters: 0.69 to 0.72.",
    (
        "Glass, ten attributes",
        "BootClus",
    ): "scale and covariance model. BIC takes VEV (0.14 to 0.15 here, 0.16 to 0.17 with "
    "the raw attributes); EEV has 0.17 (two seeds).",
    (
        "Leaves5p1",
        "BootClus",
    ): "covariance model. BIC takes VEE, whose mixture alone has 0.56 while the samples drawn from "
    "it (16 leaves of a species) give 0.25; EEE gives 0.54.",
    ("Wine", "NN-EVCLUS-bp"): LABELS_WINE,
    ("Wine", "NN-EVCLUS-bp (formula)"): LABELS_WINE,
    ("Heart", "NN-EVCLUS-bp"): LABELS_HEART,
    ("Heart", "NN-EVCLUS-bp (formula)"): LABELS_HEART,
    **{
        (
            data,
            "CCM-bp",
        ): "where it stops, perhaps: 0.49 to 0.51 at convergence over six draws, 0.50 to 0.66 at a tolerance "
        "of 1e-3 (four draws, five K); before the draw standardised 0.45 to 0.55 and, at 1e-4, 0.45 to 0.64."
        for data in BEANS
    },
    **{(data, "NN-EVCLUS-bp"): LABELS_BEANS for data in BEANS},
    **{(data, method): BEANS_METRIC for data in BEANS for method in ("BPEC", "BPEC (Euclidean)")},
    **{(data, "NN-EVCLUS"): STUCK for data in ("S2", "D31", *BEANS)},
    **{
        (data, method): words
        for data, words in (("Glass, ten attributes", TEN), ("Segment", SIXTEEN))
        for method in ("EVCLUS", "EVCLUS (ours)", "NN-EVCLUS", "NN-EVCLUS (ours)")
    },
    **{
        (data, method): LABELS
        for data in ("Seeds", "Ecoli", "Iris, raw")
        for method in ("NN-EVCLUS-bp", "NN-EVCLUS-bp (formula)")
    },
}
OF_DATA = {"Mice": ATTRIBUTES, "Letters4p1": LETTERS, "Glass": NINE, "Iris": STANDARDISED}
OF_METHODS = {"wECMdd": SPREAD_WEIGHTS, "BPEC": METRIC}


def reason(reading: str, method: str) -> str:
    """Why a figure falls short; nothing if that is not known."""
    if reading in OF_DATA:
        return OF_DATA[reading]
    if (reading, method) in REASONS:
        return REASONS[reading, method]
    if method in OF_METHODS:
        return OF_METHODS[method]
    return SPECIES if reading == "Leaves5p1" else ""


FROM_EVCLUS = "the network starts where EVCLUS ends, and loses no cluster."
MEDOIDS_OR_SCALE = (
    "starts at medoids, and d0 at the 2.5 / c quantile. Each of the two alone is enough: with the settings of the "
    "paper but for it, ARI rises from 0.87 and 0.91 to 0.95 on D31 and from 0.60 and 0.61 to 0.63 and 0.64 on S4 (two "
    "seeds; on S2 there is nothing to lift). Landmarks instead of 500 random partners change nothing but the time."
)
FAR_STARTS = (
    "starts at medoids far from each other. One of them (five seeds) has 0.70 to 0.71 on Wine, 0.65 on Iris, 0.80 on "
    "Ecoli, 0.29 on Heart, 0.72 to 0.77 on Seeds, 0.64 to 0.70 on DryBean, 0.49 to 0.52 on Segment; one at random "
    "0.29 to 0.58, 0.36 to 0.80, 0.33 to 0.74, 0.02 to 0.40, 0.37 to 0.76, 0.42 to 0.51, 0.29 to 0.44."
)
FROM_K_MEANS = (
    "k-means++ starts: on S2 0.94 against 0.84 to 0.86 from random ones, on D31 0.90 to 0.95 against 0.65 to 0.74 "
    "(CCM, two seeds; ECM 0.86 from random starts, the paper's figure). Not on S4 and Segment, where random starts "
    "end alike."
)
RAW = "raw attributes; the paper's figures for this method are those of the standardised ones."


def idea(reading: str, method: str) -> str:
    """What lifts a figure above the paper's, where that is known."""
    if reading == "Iris, raw" and "EVCLUS" not in method and method != "BootClus":
        return RAW
    if method == "NN-EVCLUS (ours)":
        return FROM_EVCLUS
    if method == "EVCLUS (ours)":
        return "d0 at the 0.36 quantile in place of 0.5." if reading in BEANS else MEDOIDS_OR_SCALE
    if method == "sECMdd":
        return FAR_STARTS
    if method in ("CCM", "ECM") and reading in ("S2", "S4", "D31", "Segment"):
        return FROM_K_MEANS
    if method == "BPEC (Euclidean)":
        return "the Euclidean metric, which does not depend on the number of neighbours behind the peaks."
    return ""
