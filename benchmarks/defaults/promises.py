"""Compare the requirements for the defaults with the measurements."""

from __future__ import annotations

from benchmarks.defaults.evidence import Evidence
from benchmarks.defaults.methods import FRONT, K_MEANS, MIXTURE, SILHOUETTE, SINGLE

__all__ = ["promises"]

AUTO = "CredalClustering()"
_MANY = 2000  # number of objects above which the scale is computed on a sample
Line = tuple[str, str, str]


def promises(evidence: Evidence, protein: float | None) -> list[Line]:
    """Return lines (requirement, measurement, whether it is met)."""
    lines = _of_row(evidence) + _of_outliers(evidence) + _of_families(evidence)
    if not len(evidence.public()):
        return lines
    return _of_public_sets(evidence, protein) + lines + _of_cost(evidence)


def _line(promise: str, seen: str, kept: bool) -> Line:
    return promise, seen, "yes" if kept else "**no**"


def _of_public_sets(evidence: Evidence, protein: float | None) -> list[Line]:
    rows = evidence.public()
    mean = evidence.mean
    evclus, ecm, k_means = (
        mean(rows, name, "ari") for name in ("EVCLUS", "ECM", K_MEANS)
    )
    kept = {name: mean(rows, name, "kept80") for name in ("EVCLUS", K_MEANS, MIXTURE)}
    auto, rival = (rows[rows["method"] == name] for name in (AUTO, SILHOUETTE))
    right = [int((some["found"] == some["c"]).sum()) for some in (auto, rival)]
    aris = [some["ari"].mean() for some in (auto, rival)]
    wide = rows[rows["p"] >= 4]
    front = [
        mean(rows, FRONT, "ari"),
        mean(wide, FRONT, "ari"),
        mean(rows, FRONT, "kept80"),
    ]
    open_number = rows[rows["method"] == "CredalClustering()"]
    n_right = int((open_number["found"] == open_number["c"]).sum())
    lines = [
        _line(
            f"{FRONT}: mean ARI over the public sets of at least 0.64",
            f"{front[0]:.3f}",
            front[0] >= 0.64,
        ),
        _line(
            f"{FRONT}: at least 0.48 on tables with four or more attributes",
            f"{front[1]:.3f}",
            front[1] >= 0.48,
        ),
        _line(
            f"{FRONT}: at least 0.71 with 80 % of the objects kept",
            f"{front[2]:.3f}",
            front[2] >= 0.71,
        ),
        _line(
            f"{FRONT}() without any parameter: ARI of at least 0.58, and at least 15 correct numbers",
            f"{open_number['ari'].mean():.3f}, {n_right} of {len(open_number)}",
            bool(open_number["ari"].mean() >= 0.58 and n_right >= 15),
        ),
        _line(
            "EVCLUS: mean ARI over the public sets of at least 0.57",
            f"{evclus:.3f}",
            evclus >= 0.57,
        ),
        _line(
            "ECM: at least k-means less 0.01",
            f"{ecm:.3f}, k-means {k_means:.3f}",
            ecm >= k_means - 0.01,
        ),
        _line(
            "EVCLUS is better than k-means and the mixture with 80 % of the objects kept",
            ", ".join(f"{name} {value:.3f}" for name, value in kept.items()),
            kept["EVCLUS"] > max(kept[K_MEANS], kept[MIXTURE]),
        ),
        _line(
            'n_clusters="auto" is better than k-means with the silhouette, in ARI and in correct numbers',
            f"ARI {aris[0]:.3f} and {aris[1]:.3f}; right {right[0]} and {right[1]} of {len(auto)}",
            aris[0] > aris[1] and right[0] > right[1],
        ),
    ]
    if protein is not None:
        lines.insert(
            2,
            _line(
                "EVCLUS on Protein: at least 0.95", f"{protein:.3f}", protein >= 0.95
            ),
        )
    return lines


def _of_row(evidence: Evidence) -> list[Line]:
    rows = evidence.generated("in a row")
    ecm, evclus, single = (
        evidence.mean(rows, name, "ari") for name in ("ECM", "EVCLUS", SINGLE)
    )
    return [
        _line(
            "Clusters in a row: ARI at most 0.02 below that with single clusters alone",
            f"ECM {ecm:.3f}, EVCLUS {evclus:.3f}, single clusters {single:.3f}",
            min(ecm, evclus) >= single - 0.02,
        )
    ]


def _of_outliers(evidence: Evidence) -> list[Line]:
    clean = evidence.generated()
    clean = clean[clean["family"] != "noisy"]
    false = {name: evidence.mean(clean, name, "outliers") for name in ("EVCLUS", "ECM")}
    found = {
        name: evidence.mean(evidence.generated("noisy"), name, "planted")
        for name in false
    }
    return [
        _line(
            "At most 3 % outliers on generated data without outliers",
            ", ".join(f"{name} {value:.1%}" for name, value in false.items()),
            max(false.values()) <= 0.03,
        ),
        _line(
            "At least 80 % of generated outliers detected",
            ", ".join(f"{name} {value:.0%}" for name, value in found.items()),
            min(found.values()) >= 0.8,
        ),
    ]


def _of_families(evidence: Evidence) -> list[Line]:
    """Exclude rings, which have no centers."""
    ratios = {}
    for family in evidence.families():
        if family != "rings":
            rows = evidence.generated(family)
            ratios[family] = evidence.mean(rows, AUTO, "ari") / evidence.mean(
                rows, SILHOUETTE, "ari"
            )
    worst = min(ratios, key=lambda family: ratios[family])
    return [
        _line(
            'n_clusters="auto" has at least 0.9 times the ARI of k-means with the silhouette on every family except rings',
            f"at worst {ratios[worst]:.2f} ({worst})",
            ratios[worst] >= 0.9,
        )
    ]


def _of_cost(evidence: Evidence) -> list[Line]:
    """Return the processor time of fits with the search of d0, relative to fits with the same d0 given."""
    own = evidence.rows[evidence.rows["method"] == "EVCLUS"]
    lines = []
    for words, some, limit in (
        (f"for up to {_MANY:,} objects at most 3 times", own[own["n"] <= _MANY], 3.0),
        ("for more objects at most 1.3 times", own[own["n"] > _MANY], 1.3),
    ):
        if len(some):
            ratio = float(some["seconds"].sum() / some["seconds_given"].sum())
            promise = (
                f'EVCLUS with d0="auto" takes {words} the time with the same d0 given'
            )
            lines.append(_line(promise, f"{ratio:.2f} times", ratio <= limit))
    return lines
