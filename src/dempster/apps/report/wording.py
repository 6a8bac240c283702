"""Write the sentences of a report: its summary, verdicts on reliability, and caveats."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dempster._text import format_count, format_share, join_some, join_words
from dempster.apps.report.facts import Facts
from dempster.partition.credal_partition import NOT_SEPARATED

# clusters are stable above and unstable below these Jaccard indices (Hennig, 2007)
_STABLE = 0.75
_UNSTABLE = 0.6
# thresholds of the mean silhouette (Kaufman and Rousseeuw, 1990)
_SEPARATED = 0.5
_OVERLAPPING = 0.25
_KEPT_SHARE = 0.8
# share of the possible improvement of the adjusted Rand index, from which doubt identifies errors
_IDENTIFYING_GAIN = 0.25
MAX_LISTED_CLUSTERS = 6
MAX_LISTED_COLUMNS = 5

_METRICS = {
    "precomputed": "the dissimilarities",
    "gower": "Gower's dissimilarity",
    "euclidean": "Euclidean distances",
}

# ---- summary -------------------------------------------------------------------------------------


def describe_run(facts: Facts) -> str:
    """Return a sentence with the method and the numbers of objects, clusters and attributes."""
    data = facts.data
    counts = facts.counts
    objects = format_count(counts.n_objects)
    text = f"{objects} were grouped into {format_count(counts.n_clusters, 'cluster')}"
    method = data.partition.metadata.get("method")
    if data.is_pairwise:
        text += " by their dissimilarities"
    elif data.frame is not None and (data.model is not None or data.clustered):
        n_attributes = len(data.clustered or ()) or np.shape(data.table)[-1]
        text += f" by {format_count(n_attributes, 'attribute')}"
    if not method and data.model is not None:
        method = type(data.model).__name__
    if method:
        text += f" with {method}"
    if facts.number is not None:
        return f"{text}. The number of clusters was estimated from the data."
    if data.partition.metadata.get("separated") is False:
        return f"{text}. {NOT_SEPARATED}"
    return f"{text}."


def describe_outcome(facts: Facts) -> str:
    """Return a sentence with the numbers of certain objects, ambiguous objects and outliers."""
    counts = facts.counts
    n = counts.n_objects
    if counts.n_certain == n:
        return "All objects certainly belong to one cluster."
    share = format_share(counts.n_certain, n)
    parts = [f"{counts.n_certain:,} ({share}) certainly belong to one cluster"]
    if counts.n_ambiguous == 1:
        parts.append("1 is ambiguous between clusters")
    elif counts.n_ambiguous:
        parts.append(f"{counts.n_ambiguous:,} are ambiguous between clusters")
    if counts.n_outliers == 1:
        parts.append("1 is an outlier")
    elif counts.n_outliers:
        parts.append(f"{counts.n_outliers:,} are outliers")
    return f"Of these objects, {join_words(parts)}."


def describe_separation(separation: float) -> str:
    """Return for how many objects a rule that separates two clusters is correct."""
    if np.isnan(separation):
        return ""
    if separation >= 0.995:
        return "correct for all certain objects of the two clusters"
    return f"correct for {(1 + separation) / 2:.0%} of the certain objects of the two clusters"


# ---- verdicts ------------------------------------------------------------------------------------


def verdicts(facts: Facts) -> dict[str, str]:
    """Return headings and texts on the reliability of the partition."""
    judges = (
        _judge_stability,
        _judge_silhouettes,
        _judge_doubt,
        _judge_number,
        _judge_shape,
    )
    results = [judge(facts) for judge in judges]
    return dict(result for result in results if result is not None)


def _judge_stability(facts: Facts) -> tuple[str, str] | None:
    trust = facts.trust
    jaccard = trust.jaccard
    if trust.stability is None or jaccard is None:
        return None
    shown = np.flatnonzero(np.isfinite(jaccard))
    weak = [facts.data.cluster_names[k] for k in shown if jaccard[k] < _UNSTABLE]
    n_lost = len(jaccard) - len(shown)
    objects = "the objects"
    if trust.n_resampled < facts.counts.n_objects:
        objects = f"a sample of {trust.n_resampled:,} objects"
    text = (
        f"The method was refitted {trust.stability.n_resamples} times, each time to 80% of "
        f"{objects}. On average, objects stayed in their cluster in {trust.stability.mean:.0%} of "
        "the refits."
    )
    if weak:
        clusters = join_some(weak, MAX_LISTED_CLUSTERS)
        text += (
            f" Do not rely on {clusters}: less than {_UNSTABLE:.0%} of the objects are common to "
            "the cluster and to its counterparts in the refits."
        )
    elif len(shown):
        text += (
            f" The least stable cluster has {np.nanmin(jaccard):.0%} of the objects in common with "
            f"its counterparts in the refits (a cluster with {_STABLE:.0%} is stable)."
        )
    if n_lost:
        lost = format_count(n_lost, "cluster")
        text += f" {lost} of this report did not occur in the sample."
    if weak or n_lost > len(jaccard) / 2:
        return "Some clusters are unstable", text
    if (jaccard[shown] >= _STABLE).all():
        return "The clusters are stable", text
    return "Most clusters are stable", text


def _judge_silhouettes(facts: Facts) -> tuple[str, str] | None:
    silhouette = facts.trust.silhouette
    metric = facts.trust.metric
    if silhouette is None or not np.isfinite(silhouette.mean):
        return None
    certain = ""
    if np.isfinite(silhouette.certain_mean):
        certain = f", {silhouette.certain_mean:.2f} for certain objects"
    sample = ""
    if silhouette.is_sampled:
        sample = f" (of a sample of {len(silhouette):,} objects)"
    text = (
        "Silhouettes compare the distances of objects to their clusters and to the nearest other "
        f"cluster, by {_METRICS.get(metric, f'{metric} distances')}. They are 1 for perfect "
        "separation and 0 for equal distances. Their mean is "
        f"{silhouette.mean:.2f}{certain}{sample}."
    )
    if silhouette.mean >= _SEPARATED:
        return "The clusters are well separated", text
    if silhouette.mean >= _OVERLAPPING:
        return "The clusters overlap", text
    return "The clusters are hardly separated", text


def _judge_doubt(facts: Facts) -> tuple[str, str] | None:
    kept = facts.trust.kept
    if kept is None:
        return None
    whole = kept.at(1.0)
    best = kept.at(_KEPT_SHARE)
    objects = f"the {facts.trust.n_labelled:,} objects with a known class"
    if facts.trust.n_labelled == facts.counts.n_objects:
        objects = "all objects"
    text = (
        f"The adjusted Rand index of clusters and known classes is {whole:.2f} for {objects} (1 is "
        f"perfect, 0 is chance), and {best:.2f} for the {_KEPT_SHARE:.0%} with the least doubt."
    )
    if whole > 0.995:
        return "Clusters and known classes agree", text
    gain = (best - whole) / (1 - whole)
    if gain <= 0:
        return "The doubt does not identify errors", text
    text += (
        f" This is {gain:.0%} of the possible improvement; from {_IDENTIFYING_GAIN:.0%} on, the "
        "doubt is said to identify errors."
    )
    if gain >= _IDENTIFYING_GAIN:
        return "The doubt identifies errors", text
    return "The doubt identifies few errors", text


def _judge_number(facts: Facts) -> tuple[str, str] | None:
    number = facts.number
    if number is None or len(number) < 2:
        return None
    text = (
        "The number was estimated; the expected agreement with the true clusters is "
        f"{number.expected_of(number.best):.2f}, and below {number.low_agreement:.2f} in one of "
        "ten such tables. If you know the number, set it."
    )
    if number.best == 1:
        return "One cluster", number.reasons().partition("; ")[2].capitalize() + "."
    if not number.is_determined:
        return f"{number.best} clusters; the data do not determine the number", text
    others = [k for k in number.plausible if k != number.best]
    if others:
        text = f"Also plausible: {join_words([str(k) for k in others])}. {text}"
        return f"{number.best} clusters, or perhaps {number.next_best}", text
    return f"{number.best} clusters fit best", text


def _judge_shape(facts: Facts) -> tuple[str, str] | None:
    verdict, _, reason = _choices(facts).get("shape", "").partition(": ")
    if reason:
        return _capitalize(verdict), _capitalize(reason)
    return None


def _choices(facts: Facts) -> dict[str, str]:
    """Return the reasons for values that the method selected."""
    return dict(facts.data.partition.metadata.get("choices", {}))


def _capitalize(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# ---- caveats -------------------------------------------------------------------------------------


def caveats(facts: Facts) -> Iterator[str]:
    """Yield sentences on the limitations of the result."""
    data = facts.data
    notes = [note.strip().rstrip(".") for note in data.notes]
    yield from (f"{_capitalize(note)}." for note in notes if note)
    if data.id_columns:
        names = [f"“{name}”" for name in data.id_columns[:MAX_LISTED_COLUMNS]]
        yield f"Columns that identify the rows are not described: {join_words(names)}."
    if data.steps:
        yield (
            f"The table was transformed by {join_words(data.steps)} before clustering. "
            "This report shows the original values."
        )
    if data.frame is not None:
        is_missing = data.frame.dropna(axis="columns", how="all").isna()
        n_missing = int(is_missing.to_numpy().sum())
        if n_missing:
            rows = format_count(int(is_missing.any(axis=1).sum()), "row")
            yield f"{n_missing:,} values are missing, in {rows}. Means ignore them."
    if data.partition.metadata.get("converged") is False:
        yield "The method did not converge. More iterations may change the result."
    if facts.number is not None:
        yield "The number of clusters was estimated; see the second best number above."
    yield from _caveats_of_samples(facts)
    if facts.explaining_error is not None:
        yield f"Objects could not be explained: {facts.explaining_error}."
    if data.index is None:
        yield "Objects are named by their position in the table, starting from 0."
    if facts.profiles is not None and data.clustered != []:
        yield (
            "Clusters always differ in the attributes that were used for clustering. This does not "
            "prove that the clusters exist. Differences in other columns are stronger evidence."
        )
    if data.frame is not None and data.model is None and data.clustered is None:
        names = [f"“{name}”" for name in data.frame.columns]
        yield (
            "The partition does not record which columns were clustered. The report treats all "
            f"columns of its table as clustered: {join_some(names, MAX_LISTED_COLUMNS)}."
        )
    if data.X is None:
        yield (
            "There are no profiles and no explanations, because the report was created without "
            "the table."
        )
    yield from facts.trust.left_out


def _caveats_of_samples(facts: Facts) -> Iterator[str]:
    n = facts.counts.n_objects
    if facts.profiles is not None:
        n_profiled = len(facts.profiles.rows)
        n_described = len(facts.profiles.profile.attributes)
        if n_profiled < n:
            yield (
                f"Profiles describe a sample of {n_profiled:,} of the {n:,} objects. Counts "
                "include all objects."
            )
        if n_described < facts.profiles.n_columns:
            yield (
                f"Only the {n_described:,} of {facts.profiles.n_columns:,} columns that differ "
                "most between the clusters are described."
            )
    if facts.coordinates is not None and len(facts.coordinates.rows) < n:
        n_shown = len(facts.coordinates.rows)
        yield f"The map shows a sample of {n_shown:,} of the {n:,} objects."
