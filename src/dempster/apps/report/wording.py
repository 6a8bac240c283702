"""Write the sentences of a report, which are its summary, verdicts on reliability, and caveats."""

from __future__ import annotations

import numpy as np

from dempster._text import format_count, format_share, join_words
from dempster.apps.report.facts import Facts

# clusters are stable above and unstable below these Jaccard indices (Hennig, 2007)
_STABLE = 0.75
_UNSTABLE = 0.6
# thresholds of the mean silhouette (Kaufman and Rousseeuw, 1990)
_SEPARATED = 0.5
_OVERLAPPING = 0.25
_KEPT_SHARE = 0.8
# a number of clusters is close to the best if it has at least this share of its support
_CLOSE_SUPPORT = 0.9


def describe_run(facts: Facts) -> str:
    """Return a sentence with the method and the numbers of objects, clusters and attributes."""
    data = facts.data
    counts = facts.counts
    method = data.partition.metadata.get("method") or (
        type(data.model).__name__ if data.model is not None else None
    )
    objects = format_count(counts.n_objects)
    clusters = format_count(counts.n_clusters, "cluster")
    by = ""
    if data.is_pairwise:
        by = " by their dissimilarities"
    elif data.model is not None and data.frame is not None:
        by = f" by {format_count(len(data.clustered) if data.clustered else np.shape(data.table)[-1], 'attribute')}"
    if method is not None:
        how = f" with {method}"
    else:
        how = ""
    if facts.number is not None:
        estimated = " The number of clusters was estimated from the data."
    else:
        estimated = ""
    return f"{objects} were grouped into {clusters}{by}{how}.{estimated}"


def describe_outcome(facts: Facts) -> str:
    """Return a sentence with the numbers of certain objects, ambiguous objects and outliers."""
    counts = facts.counts
    n = counts.n_objects
    if counts.n_certain == n:
        return "All objects certainly belong to one cluster."
    parts = [
        f"{counts.n_certain:,} ({format_share(counts.n_certain, n)}) certainly belong to one cluster"
    ]
    if counts.n_ambiguous:
        parts.append(
            f"{counts.n_ambiguous:,} {'is' if counts.n_ambiguous == 1 else 'are'} ambiguous between clusters"
        )
    if counts.n_outliers:
        parts.append(
            "1 is an outlier" if counts.n_outliers == 1 else f"{counts.n_outliers:,} are outliers"
        )
    return f"Of these objects, {join_words(parts)}."


def describe_separation(separation: float) -> str:
    """Return a phrase that states for how many objects a rule that separates two clusters is correct."""
    if np.isnan(separation):
        return ""
    if separation >= 0.995:
        return "correct for all certain objects of the two clusters"
    return f"correct for {(1 + separation) / 2:.0%} of the certain objects of the two clusters"


# ---- verdicts ------------------------------------------------------------------------------------


def verdicts(facts: Facts) -> list[tuple[str, str]]:
    """Return pairs of a heading and a text on the reliability of the partition."""
    judges = (_judge_stability, _judge_silhouettes, _judge_doubt, _judge_number, _judge_shape)
    results = [judge(facts) for judge in judges]
    return [result for result in results if result is not None]


def _judge_stability(facts: Facts) -> tuple[str, str] | None:
    trust = facts.trust
    if trust.stability is None or trust.jaccard is None:
        return None
    jaccard = trust.jaccard
    shown = np.flatnonzero(np.isfinite(jaccard))
    weak = [facts.data.cluster_name(int(k)) for k in shown if jaccard[k] < _UNSTABLE]
    n_lost = len(jaccard) - len(shown)
    if weak or n_lost > len(jaccard) / 2:
        verdict = "Some clusters are unstable"
    else:
        is_stable = (jaccard[shown] >= _STABLE).all()
        if is_stable:
            verdict = "The clusters are stable"
        else:
            verdict = "Most clusters are stable"
    is_sample = trust.n_resampled < facts.counts.n_objects
    if is_sample:
        of = f"of a sample of {trust.n_resampled:,} objects"
    else:
        of = "of the objects"
    text = (
        f"The method was refitted {trust.stability.n_resamples} times, each time to 80% {of}. On average, objects "
        f"stayed in their cluster in {trust.stability.mean:.0%} of the refits."
    )
    if weak:
        some = join_words(weak[:6]) + (f" and {len(weak) - 6} more" if len(weak) > 6 else "")
        text += f" Do not rely on {some} (Jaccard index below {_UNSTABLE})."
    elif len(shown):
        text += f" The least stable cluster has a Jaccard index of {np.nanmin(jaccard):.2f} (stable from {_STABLE})."
    if n_lost:
        if n_lost == 1:
            lost = "One cluster"
        else:
            lost = format_count(n_lost, "cluster")
        text += f" {lost} of this report did not occur in the sample."
    return verdict, text


def _judge_silhouettes(facts: Facts) -> tuple[str, str] | None:
    silhouette = facts.trust.silhouette
    metric = facts.trust.metric
    if silhouette is None or not np.isfinite(silhouette.mean):
        return None
    mean = silhouette.mean
    if mean < _OVERLAPPING:
        verdict = "The clusters are hardly separated"
    else:
        verdict = "The clusters overlap"
    if mean >= _SEPARATED:
        verdict = "The clusters are well separated"
    names = {
        "precomputed": "the dissimilarities",
        "gower": "Gower's dissimilarity",
        "euclidean": "Euclidean distances",
    }
    if silhouette.is_sampled:
        sample = f" (of a sample of {len(silhouette):,} objects)"
    else:
        sample = ""
    if np.isfinite(silhouette.certain_mean):
        certain = f", {silhouette.certain_mean:.2f} for certain objects"
    else:
        certain = ""
    by = names.get(metric, f"{metric} distances")
    text = (
        f"Silhouettes compare the distances of objects to their clusters and to the nearest other cluster, by {by}. "
        f"They are 1 for perfect separation and 0 for equal distances. Their mean is {mean:.2f}{certain}{sample}."
    )
    return verdict, text


def _judge_doubt(facts: Facts) -> tuple[str, str] | None:
    kept = facts.trust.kept
    if kept is None:
        return None
    whole = kept.at(1.0)
    best = kept.at(_KEPT_SHARE)
    if best > whole + 0.005:
        verdict = "The doubt identifies errors"
    else:
        verdict = "The doubt does not identify errors"
    if whole > 0.995:
        verdict = "Clusters and known classes agree"
    n_labelled = facts.trust.n_labelled
    if n_labelled == facts.counts.n_objects:
        objects = "all objects"
    else:
        objects = f"the {n_labelled:,} objects with a known class"
    text = (
        f"The adjusted Rand index of clusters and known classes is {whole:.2f} for {objects} (1 is perfect, 0 is "
        f"chance), and {best:.2f} for the {_KEPT_SHARE:.0%} with the least doubt."
    )
    return verdict, text


def _judge_number(facts: Facts) -> tuple[str, str] | None:
    number = facts.number
    if number is None or len(number) < 2:
        return None
    order = np.argsort(-number.support, kind="stable")
    best = int(number.n_clusters[order[0]])
    second = int(number.n_clusters[order[1]])
    ratio = float(number.support[order[1]] / max(number.support[order[0]], np.finfo(float).tiny))
    if ratio >= _CLOSE_SUPPORT:
        verdict = f"{best} clusters, or perhaps {second}"
    else:
        verdict = f"{best} clusters fit best"
    text = (
        f"The number was estimated by four criteria (silhouettes, two likelihoods, density peaks). The second best "
        f"number, {second}, has {ratio:.0%} of the support of {best}. If you know the number, set it."
    )
    selected = facts.counts.n_clusters
    if selected != best:  # CredalClustering also compares the shapes of the clusters.
        verdict = f"{selected} clusters, or perhaps {best}"
        text = (
            f"Four criteria (silhouettes, two likelihoods, density peaks) support {best} clusters most. The method "
            f"also compares shapes, and selected {_choices(facts).get('n_clusters', selected)}. If you know the "
            "number, set it."
        )
    return verdict, text


def _judge_shape(facts: Facts) -> tuple[str, str] | None:
    verdict, _, reason = _choices(facts).get("shape", "").partition(": ")
    if reason:
        return (verdict, f"{reason[:1].upper()}{reason[1:]}")
    return None


def _choices(facts: Facts) -> dict[str, str]:
    """Return the reasons for values that the method selected."""
    return dict(facts.data.partition.metadata.get("choices", {}))


# ---- caveats -------------------------------------------------------------------------------------


def caveats(facts: Facts) -> list[str]:
    """Return sentences on the limitations of the result."""
    data = facts.data
    profiles = facts.profiles
    n = facts.counts.n_objects
    notes = [note.strip().rstrip(".") for note in data.notes]
    out = [f"{note[:1].upper()}{note[1:]}." for note in notes if note]
    if data.id_columns:
        some = join_words([f"“{name}”" for name in data.id_columns[:5]])
        out.append(f"Columns that identify the rows are not described: {some}.")
    if data.steps:
        steps = join_words(data.steps)
        out.append(
            f"The table was transformed by {steps} before clustering. This report shows the original values."
        )
    if data.frame is None:
        cells = None
    else:
        cells = data.frame.dropna(axis="columns", how="all").isna()
    if cells is not None and (missing := int(cells.to_numpy().sum())):
        rows = int(cells.any(axis=1).sum())
        out.append(
            f"{missing:,} values are missing, in {format_count(rows, 'row')}. Means ignore them."
        )
    if data.partition.metadata.get("converged") is False:
        out.append("The method did not converge. More iterations (max_iter) may change the result.")
    if facts.number is not None:
        out.append("The number of clusters was estimated; see the second best number above.")
    if profiles is not None and len(profiles.rows) < n:
        sample = f"a sample of {len(profiles.rows):,} of the {n:,} objects"
        out.append(f"Profiles describe {sample}. Counts include all objects.")
    if profiles is not None and len(profiles.profile.attributes) < profiles.n_columns:
        number = f"{len(profiles.profile.attributes):,} of {profiles.n_columns:,}"
        out.append(
            f"Only the {number} columns that differ most between the clusters are described."
        )
    if facts.coordinates is not None and len(facts.coordinates.rows) < n:
        out.append(
            f"The map shows a sample of {len(facts.coordinates.rows):,} of the {n:,} objects."
        )
    if facts.explaining_stopped:
        out.append(
            "Only the first objects are explained, because explanations take long for these data."
        )
    if facts.explaining_error is not None:
        out.append(f"Objects could not be explained: {facts.explaining_error}.")
    if data.index is None:
        out.append("Objects are named by their position in the table, starting from 0.")
    if profiles is not None and data.clustered != []:
        out.append(
            "Clusters always differ in the attributes that were used for clustering. This does not prove that the "
            "clusters exist. Differences in other columns are stronger evidence."
        )
    if data.X is None:
        out.append(
            "There are no profiles and no explanations, because the report was created without the table."
        )
    return out + facts.trust.left_out
