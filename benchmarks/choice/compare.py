"""Compare the choice of a partition with other rules, and write ``benchmarks/CHOICE.md``.

    python -m benchmarks.choice.compare [--sets 120] [--jobs 2]

Three groups of data are compared: raw tables of a public benchmark suite and public data sets with
known classes, if they are available, and data that are generated with other seeds than those from
which the judge was learned. All rules get the same tables and no settings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from reproduce.data import MissingDataError, stored
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from benchmarks.choice.generate import draw
from benchmarks.defaults.data import PUBLIC_NAMES
from benchmarks.harness import shared_folder
from dempster import __version__
from dempster.cluster import CredalClustering

PAGE = Path(__file__).parents[1] / "CHOICE.md"
FIRST_SEED = 3_000_000
_MAX_ROWS = 2500
_LARGEST = 15  # number of clusters that the other rules compare
_MAX_SILHOUETTES = 1000  # rows of which the mean silhouette is computed
_N_KMEANS = 5  # starts


@dataclass(frozen=True)
class Result:
    """Agreement of a partition with the truth, and whether its number of clusters is true."""

    agreement: float
    is_right: bool


def select_by_credal_clustering(X: np.ndarray, truths: list[np.ndarray]) -> np.ndarray:
    """Return the labels of `CredalClustering`."""
    return CredalClustering(random_state=0, n_jobs=1).fit(X).labels_


def cluster_with_true_number(X: np.ndarray, truths: list[np.ndarray]) -> np.ndarray:
    """Return the best labels of `CredalClustering` with the number of clusters of a truth."""
    numbers = sorted({_count(truth) for truth in truths})
    found = [CredalClustering(c, random_state=0, n_jobs=1).fit(X) for c in numbers]
    return max((one.labels_ for one in found), key=partial(agree, truths))


def select_by_silhouette(X: np.ndarray, truths: list[np.ndarray]) -> np.ndarray:
    """Return the labels of k-means with the largest mean silhouette."""
    X = _scaled(X)
    some = np.random.default_rng(0).permutation(len(X))[:_MAX_SILHOUETTES]

    def silhouette(labels: np.ndarray) -> float:
        if len(np.unique(labels[some])) < 2:
            return -1.0
        return float(silhouette_score(X[some], labels[some]))

    fits = [
        KMeans(k, n_init=_N_KMEANS, random_state=0).fit_predict(X) for k in _numbers(X)
    ]
    return max(fits, key=silhouette)


def select_by_bic(X: np.ndarray, truths: list[np.ndarray]) -> np.ndarray:
    """Return the labels of the Gaussian mixture with the smallest BIC."""
    X = _scaled(X)
    fits = [
        GaussianMixture(k, reg_covar=1e-4, random_state=0).fit(X)
        for k in [1, *_numbers(X)]
    ]
    return min(fits, key=lambda one: one.bic(X)).predict(X)


def select_by_density(X: np.ndarray, truths: list[np.ndarray]) -> np.ndarray:
    """Return the labels of HDBSCAN, in which noise is a cluster of its own."""
    size = max(len(X) // 50, 5)
    return HDBSCAN(min_cluster_size=size, copy=True).fit_predict(_scaled(X))


RULES: dict[str, Callable[[np.ndarray, list[np.ndarray]], np.ndarray]] = {
    "CredalClustering": select_by_credal_clustering,
    "k-means with the best silhouette": select_by_silhouette,
    "Gaussian mixture with the best BIC": select_by_bic,
    "HDBSCAN, smallest cluster n / 50": select_by_density,
    "CredalClustering, true number given": cluster_with_true_number,
}


def agree(truths: list[np.ndarray], labels: np.ndarray) -> float:
    """Return the largest adjusted Rand index with a truth; rows without a class are left out."""
    return max(
        adjusted_rand_score(truth[truth >= 0], labels[truth >= 0]) for truth in truths
    )


def _count(truth: np.ndarray) -> int:
    return len(np.unique(truth[truth >= 0]))


def _numbers(X: np.ndarray) -> range:
    return range(2, min(_LARGEST, len(X) // 5) + 1)


def _scaled(X: np.ndarray) -> np.ndarray:
    """Standardize tables of more than two columns, whose units may differ."""
    return StandardScaler().fit_transform(X) if X.shape[1] > 2 else X


def measure(data: tuple[str, np.ndarray, list[np.ndarray]]) -> list[Result]:
    """Return the results of all rules for one table."""
    _, X, truths = data
    found = []
    for rule in RULES.values():
        labels = rule(X, truths)
        numbers = {_count(truth) for truth in truths}
        found.append(Result(agree(truths, labels), _count(labels) in numbers))
    return found


def suite_tables() -> list[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Return the tables of the benchmark suite with all reference labellings."""
    folder = shared_folder()
    if folder is None:
        return []
    tables = []
    for path in sorted((folder / "data" / "bench").glob("*.npz")):
        with np.load(path) as stored_table:
            X = stored_table["X"].astype(float)
            truths = list(stored_table["Y"] - 1)
        tables.append((path.stem, *_draw_rows(X, truths)))
    return tables


def public_tables() -> list[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Return the public data sets that are available."""
    tables = []
    for name in PUBLIC_NAMES:
        try:
            data = stored(name)
        except MissingDataError:
            continue
        codes = np.unique(data["y"], return_inverse=True)[1]
        tables.append((name, *_draw_rows(data["X"].astype(float), [codes])))
    return tables


def generated_tables(n_sets: int) -> list[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Return generated tables of several clusters."""
    tables = []
    seed = FIRST_SEED
    while len(tables) < n_sets:
        kind, X, y = draw(seed)
        if _count(y) > 1 and len(X) >= 60 and kind != "many":
            tables.append((f"{kind}-{seed}", *_draw_rows(X, [y])))
        seed += 1
    return tables


def _draw_rows(
    X: np.ndarray, truths: list[np.ndarray]
) -> tuple[np.ndarray, list[np.ndarray]]:
    rows = np.random.default_rng(0).permutation(len(X))[:_MAX_ROWS]
    rows.sort()
    return X[rows], [truth[rows] for truth in truths]


def write_section(name: str, results: list[list[Result]]) -> str:
    """Return the table of one group of data."""
    lines = [
        f"## {name}",
        "",
        f"{len(results)} tables.",
        "",
        "| rule | ARI | right number |",
        "|:--|--:|--:|",
    ]
    for rule, of_rule in zip(RULES, zip(*results, strict=True), strict=True):
        agreement = np.mean([one.agreement for one in of_rule])
        share = np.mean([one.is_right for one in of_rule])
        right = "" if "given" in rule else f"{share:.2f}"
        lines.append(f"| {rule} | {agreement:.3f} | {right} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=120)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    groups = {
        "Benchmark suite": suite_tables(),
        "Public data sets": public_tables(),
        "Generated tables": generated_tables(options.sets),
    }
    page = (
        "# Choice of a partition\n\n"
        f"Written by `python -m benchmarks.choice.compare` with dempster {__version__}.\n\n"
        "Mean adjusted Rand index (ARI) with the true clusters or classes, and the share of tables with "
        "the right number of clusters. All rules get the same tables, without settings, and at most "
        f"{_MAX_ROWS:,} rows. The other rules compare up to {_LARGEST} clusters and get standardized "
        "attributes if there are more than two. The judge of `CredalClustering` was learned from "
        "generated data with other seeds; the settings of the learning were compared on the benchmark "
        "suite.\n"
    )
    with Pool(options.jobs) as pool:
        for name, tables in groups.items():
            if not tables:
                print(f"{name}: not available")
                continue
            results = pool.map(measure, tables, chunksize=1)
            page += "\n" + write_section(name, results)
            print(write_section(name, results), flush=True)
            PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
