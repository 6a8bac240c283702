"""Pictures of the steps of five methods, on two long clusters, a round one and an outlier."""

from itertools import pairwise, product

import numpy as np
from _drawing import blank, partition_panel
from _panels import COLORS, mass_map, row
from matplotlib.patches import Ellipse
from scipy.spatial.distance import pdist
from sklearn.mixture import GaussianMixture

from dempster.cluster import ECM, EVCLUS, NNEVCLUS, BootClus, CredalClustering
from dempster.dissimilarity import to_conflict
from dempster.explain.scores import count_pairs, match_one_to_one

N_CLUSTERS = 3


def generate(seed, length, width, gap, n):
    """Return two clusters of n objects each, a round one of n objects, and an outlier."""
    draw = np.random.default_rng(seed)
    parts = [
        draw.normal((0, 0), (length, width), (n, 2)),
        draw.normal((1, gap), (length, width), (n, 2)),
        draw.normal((3 + 2 * length, gap / 2), 0.8, (n, 2)),
        [[5 + 2 * length, -3.0]],
    ]
    return np.vstack(parts)


X = generate(0, 2.0, 0.6, 3.3, 70)


def ordered(labels):
    """Return the labels with the same numbers in all panels: those of the generated clusters."""
    truth = np.minimum(np.arange(len(labels)) * 3 // (len(labels) - 1), 2)
    places = np.argsort(match_one_to_one(count_pairs(truth, labels, 3, 3)))
    return places[labels]


def points(ax, title, X=X, **keywords):
    ax.scatter(*X.T, **{"s": 14, "color": "0.7", "linewidths": 0, **keywords})
    ax.set_title(title)
    blank(ax)
    ax.set_aspect("equal", adjustable="datalim")


def result(model, title, X=X):
    def panel(ax):
        partition_panel(ax, model, X, title)
        ax.set_aspect("equal", adjustable="datalim")

    return panel


def ellipses(ax, centers, covariances):
    """Draw two standard deviations around each center."""
    for center, covariance in zip(centers, covariances, strict=True):
        values, vectors = np.linalg.eigh(covariance)
        width, height = 4 * np.sqrt(values[::-1])
        angle = np.degrees(np.arctan2(*vectors[::-1, 1]))
        ax.add_patch(
            Ellipse(center, width, height, angle=angle, fill=False, edgecolor="0.3")
        )


def bars(ax, names, heights, colors, title):
    ax.barh(names, heights, color=colors)
    ax.invert_yaxis()
    ax.set(title=title, xlim=(0, 1))
    ax.spines[["top", "right"]].set_visible(False)


# ---- CredalClustering ----------------------------------------------------------------------------

long = generate(4, 2.6, 0.6, 3.6, 110)


model = CredalClustering(N_CLUSTERS, random_state=0).fit(long)


def candidate_panel(shape):
    """Return a panel with the best candidate of a shape."""
    table = model.candidates_
    best = table[(table["shape"] == shape) & (table["n_clusters"] == N_CLUSTERS)]
    agreement = best["expected_agreement"].iloc[0]
    labels = model.candidate_labels_[best.index[0]]
    counts = count_pairs(model.candidate_labels_[0], labels, N_CLUSTERS, N_CLUSTERS)
    places = np.argsort(match_one_to_one(counts))

    def panel(ax):
        title = f"{shape} clusters,\nexpected agreement {agreement:.2f}"
        points(ax, title, model.candidate_points_, color=COLORS[places[labels]])

    return panel


row(
    "how-credalclustering",
    *map(candidate_panel, ("compact", "elongated", "connected")),
    result(model, "result", long),
    width=2.5,
    height=2.8,
)

# ---- EVCLUS --------------------------------------------------------------------------------------

model = EVCLUS(N_CLUSTERS, random_state=0).fit(X)
near = int(np.argsort(np.linalg.norm(X - X[20], axis=1))[4])
PAIRS = {"near": (20, near), "between": (20, 90), "far": (20, 170)}


def pairs_panel(ax):
    points(ax, "1. dissimilarities of pairs")
    for color, (name, pair) in zip(COLORS[3:], PAIRS.items(), strict=True):
        ax.plot(*X[list(pair)].T, "o-", color=color, markersize=6, label=name)
    ax.legend(frameon=False, fontsize="small", loc="lower left")


def conflict_panel(ax):
    d = np.linspace(0, pdist(X).max(), 200)
    ax.plot(d, to_conflict(d, model.d0_), color="0.4")
    for color, pair in zip(COLORS[3:], PAIRS.values(), strict=True):
        distance = pdist(X[list(pair)])
        ax.plot(
            distance, to_conflict(distance, model.d0_), "o", color=color, markersize=9
        )
    ax.set(title="2. conflict that each pair should have", ylim=(0, 1.05))
    ax.set(xlabel="dissimilarity", ylabel="conflict")
    ax.spines[["top", "right"]].set_visible(False)


row(
    "how-evclus",
    pairs_panel,
    conflict_panel,
    result(model, "3. masses with these conflicts"),
    height=3.4,
)

# ---- ECM -----------------------------------------------------------------------------------------

model = ECM(N_CLUSTERS, random_state=0).fit(X)
sets = model.focal_sets_
members = np.asarray(sets.membership)
size = members.sum(axis=1)
centers = members[size > 0] @ model.cluster_centers_ / size[size > 0, None]
in_pairs = np.asarray(model.credal_partition_.masses)[:, size == 2].max(axis=1)
one = int(np.abs(in_pairs - 0.6).argmin())


def centers_panel(ax):
    points(ax, "1. a center for every set")
    single = size[size > 0] == 1
    ax.scatter(*centers[single].T, s=90, marker="o", color="black", label="clusters")
    ax.scatter(*centers[~single].T, s=70, marker="s", color="#d55e00", label="pairs")
    for center in centers:
        ax.plot(*np.array([X[one], center]).T, color="0.4", linewidth=0.8)
    ax.scatter(*X[one], s=50, color="#0072b2", label="an object")
    ax.legend(frameon=False, fontsize="small", loc="lower left")


def masses_panel(ax):
    names = ["empty set" if not some else " or ".join(map(str, some)) for some in sets]
    shade = np.where(size == 1, "black", np.where(size == 2, "#d55e00", "0.6"))
    masses = np.asarray(model.credal_partition_.masses)[one]
    bars(ax, names, masses, shade, "2. masses of this object")


row(
    "how-ecm",
    centers_panel,
    masses_panel,
    result(model, "3. after the last iteration"),
    height=3.4,
)

# ---- BootClus ------------------------------------------------------------------------------------

model = BootClus(N_CLUSTERS, n_bootstraps=100, random_state=0).fit(X)
doubtful = int(model.credal_partition_.pignistic().max(axis=1).argmin())
PAIRS["between"] = (
    doubtful,
    int(model.credal_partition_.summary().typical[model.labels_[doubtful]]),
)
rng = np.random.default_rng(0)
replicates = [
    GaussianMixture(N_CLUSTERS, n_init=3, random_state=0).fit(
        X[rng.integers(len(X), size=len(X))]
    )
    for _ in range(60)
]


def bootstrap_panel(ax):
    points(ax, "1. a mixture for each bootstrap sample")
    for replicate in replicates[:6]:
        ellipses(ax, replicate.means_, replicate.covariances_)


def probability_panel(ax):
    for color, (name, pair) in zip(COLORS[3:], PAIRS.items(), strict=True):
        posterior = np.stack(
            [replicate.predict_proba(X[list(pair)]) for replicate in replicates]
        )
        together = (posterior[:, 0] * posterior[:, 1]).sum(axis=1)
        low, high = np.quantile(together, [0.05, 0.95])
        y = list(PAIRS).index(name)
        ax.scatter(
            together, y + rng.uniform(-0.12, 0.12, len(together)), s=8, color=color
        )
        ax.plot([low, high], [y + 0.3, y + 0.3], color=color, linewidth=3)
    ax.set_yticks(range(len(PAIRS)), labels=list(PAIRS))
    ax.set(title="2. probability of the same cluster", xlim=(-0.02, 1.02))
    ax.spines[["top", "right"]].set_visible(False)


row(
    "how-bootclus",
    bootstrap_panel,
    probability_panel,
    result(model, "3. masses with these intervals"),
    height=3.4,
)

# ---- NNEVCLUS ------------------------------------------------------------------------------------

model = NNEVCLUS(N_CLUSTERS, outlier_detector="one-class-svm", random_state=0).fit(X)


def network_panel(ax):
    layers = [["x", "y"], [""] * 5, ["0", "1", "2", "0 or 1"]]
    places = []
    for column, names in enumerate(layers):
        places.append(
            [(column, height) for height in np.linspace(0.9, 0.1, len(names))]
        )
        for (x, y), name in zip(places[-1], names, strict=True):
            ax.scatter(x, y, s=260, color="white", edgecolors="0.3", zorder=2)
            ax.annotate(name, (x, y), (14, 0), textcoords="offset points", va="center")
    for left, right in pairwise(places):
        for edge in product(left, right):
            ax.plot(*np.transpose(edge), color="0.75", linewidth=0.8, zorder=1)
    ax.set(
        title="2. a network from values to masses", xlim=(-0.3, 2.7), ylim=(-0.05, 1.05)
    )
    blank(ax)
    ax.set_frame_on(False)


row(
    "how-nnevclus",
    lambda ax: points(
        ax, "1. EVCLUS for a sample", color=COLORS[model.evclus_.labels_]
    ),
    network_panel,
    lambda ax: mass_map(
        ax, model, X, model.labels_, "3. masses of any point", margin=0.3
    ),
    height=3.4,
)
