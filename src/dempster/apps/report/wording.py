"""Write the sentences of a report: its summary, verdicts on reliability, and caveats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dempster._text import format_count, format_share, join_some, join_words
from dempster.apps.report.facts import DoubtfulObject, Facts
from dempster.model_selection import NumberOfClusters
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
MAX_EXAMPLES = 3  # number of objects that the summary names
MAX_LISTED_COLUMNS = 5

_METRICS = {
    "precomputed": "the dissimilarities",
    "gower": "Gower's dissimilarity",
    "euclidean": "Euclidean distances",
}

# ---- summary -------------------------------------------------------------------------------------


def summarize(facts: Facts) -> Iterator[str]:
    """Yield the sentences of a paragraph that can be forwarded without the report."""
    yield _describe_run(facts)
    if facts.number is not None:
        yield _describe_number(facts.number)
    elif isinstance(getattr(facts.data.model, "n_clusters", None), int):
        yield "The number of clusters was given, not estimated."
    yield _describe_outcome(facts)
    yield _advise(facts)
    yield _warn_of_conclusions(facts)


def _describe_run(facts: Facts) -> str:
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
    return f"{text}."


def _describe_number(number: NumberOfClusters) -> str:
    """Return a sentence on how sure the number of clusters is."""
    expected = f"{number.expected_of(number.best):.2f}"
    agreement = (
        f"an expected agreement of {expected} with the true clusters (1 is perfect, 0 is chance), "
        f"and below {number.low_agreement:.2f} in one of ten such tables"
    )
    if number.best == 1:
        text = "The data do not show several clusters"
        if number.next_best is not None:
            text += f"; the best number above one is {number.next_best}"
        return f"{text}."
    if not number.is_determined:
        return f"The data do not determine the number of clusters; {number.best} has {agreement}."
    others = [str(k) for k in number.plausible if k != number.best]
    text = f"The number was estimated, with {agreement}"
    if len(others) == 1:
        text += f"; {others[0]} is also plausible"
    elif others:
        text += f"; {join_words(others)} are also plausible"
    return f"{text}."


def _describe_outcome(facts: Facts) -> str:
    """Return a sentence with the shares of certain objects, ambiguous objects and outliers."""
    counts = facts.counts
    n = counts.n_objects
    if counts.n_certain == n:
        return "All objects are certain (assigned to a single cluster)."
    groups = (
        (counts.n_certain, "certain (assigned to a single cluster)"),
        (counts.n_ambiguous, "ambiguous between clusters"),
        (counts.n_outliers, "outliers"),
    )
    parts = []
    for number, words in groups:
        if number == 1:
            words = words.replace("outliers", "an outlier")
        verb = "is" if number == 1 else "are"
        if number:
            parts.append(f"{number:,} ({format_share(number, n)}) {verb} {words}")
    return f"Of these objects, {join_words(parts)}."


def _advise(facts: Facts) -> str:
    """Return a sentence on the objects to look at first."""
    counts = facts.counts
    parts = []
    if facts.pairs:
        pair = facts.pairs[0]
        names = join_words([facts.data.cluster_names[k] for k in pair.clusters])
        number = format_count(pair.n_objects)
        objects = [
            one for one in facts.ambiguous if {*pair.clusters} <= {*one.clusters}
        ]
        parts.append(f"the {number} between {names}{_such_as(facts, objects)}")
    elif counts.n_ambiguous:
        number = format_count(counts.n_ambiguous, "ambiguous object")
        parts.append(f"the {number}{_such_as(facts, facts.ambiguous)}")
    if counts.n_outliers:
        number = format_count(counts.n_outliers, "outlier")
        parts.append(f"the {number}{_such_as(facts, facts.outliers)}")
    if not parts:
        return "No object is doubtful; look at the typical objects of each cluster."
    return f"Look first at {join_words(parts)}."


def _such_as(facts: Facts, objects: Sequence[DoubtfulObject]) -> str:
    """Return the names of the most doubtful of several objects."""
    names = [facts.data.object_name(one.position) for one in objects[:MAX_EXAMPLES]]
    if not names:
        return ""
    text = join_words(names)
    if facts.data.index is None:
        text = f"row{'s' * (len(names) > 1)} {text}, counted from 0"
    return f" ({'such as ' * (len(objects) > len(names))}{text})"


def _warn_of_conclusions(facts: Facts) -> str:
    """Return sentences on what the result does not show."""
    if facts.counts.n_clusters == 1:
        return "Do not conclude that there are no groups: these data do not show them."
    weak = unstable_clusters(facts)
    text = (
        "Do not conclude that the clusters exist outside these data, or that their number is "
        "right: certain objects are certain only given this partition."
    )
    if weak:
        text += f" Do not rely on {join_some(weak, MAX_LISTED_CLUSTERS)}, which resampling changes."
    return text


def unstable_clusters(facts: Facts) -> list[str]:
    """Return the names of the clusters that differ in refits to samples of the objects."""
    jaccard = facts.trust.jaccard
    if jaccard is None:
        return []
    names = facts.data.cluster_names
    return [names[k] for k in np.flatnonzero(jaccard < _UNSTABLE)]


# ---- warnings ------------------------------------------------------------------------------------


def warnings_of_fit(facts: Facts) -> Iterator[str]:
    """Yield sentences that a reader must know before all others."""
    data = facts.data
    if data.partition.metadata.get("separated") is False:
        yield NOT_SEPARATED
    if data.warnings:
        yield from (f"{text.rstrip('.')}." for text in data.warnings)
    elif data.partition.metadata.get("converged") is False:
        yield "The method did not converge. More iterations may change the result."
    empty = [data.cluster_names[k] for k in np.flatnonzero(facts.counts.possible == 0)]
    if empty:
        clusters = format_count(facts.counts.n_clusters, "cluster")
        verb = "contains" if len(empty) == 1 else "contain"
        names = join_some(empty, MAX_LISTED_CLUSTERS)
        yield f"{len(empty)} of {clusters} {verb} no object: {names}."


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
    weak = unstable_clusters(facts)
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
