"""Sentences of a report: what was done and found, verdicts on trust, and caveats."""

from __future__ import annotations

import numpy as np

from dempster._text import format_count, format_share, join_words
from dempster.apps.report.facts import Facts

_HIGHLY_STABLE, _UNSTABLE = 0.75, 0.6  # Jaccard indices (Hennig, 2007)
_SEPARATED, _TOUCHING = 0.5, 0.25  # silhouettes (Kaufman and Rousseeuw, 1990)
_KEPT_SHARE = 0.8
_CLOSE_SUPPORT = 0.9  # share of the support of the best number of clusters


def describe_run(facts: Facts) -> str:
    """Name method, objects, clusters and attributes in a sentence."""
    data, counts = facts.data, facts.counts
    method = data.metadata.get("method") or (type(data.model).__name__ if data.model is not None else None)
    objects, clusters = format_count(counts.n_objects), format_count(counts.n_clusters, "cluster")
    by = ""
    if data.is_pairwise:
        by = " by their dissimilarities"
    elif data.model is not None and data.frame is not None:
        by = f" by {format_count(len(data.clustered) if data.clustered else np.shape(data.table)[-1], 'attribute')}"
    chosen = ", a number found from the data," if facts.number is not None else ""
    if method is None:
        return f"{objects} were sorted into {clusters}."
    return f"{method} sorted {objects} into {clusters}{chosen}{by}."


def describe_outcome(facts: Facts) -> str:
    """Count certain, torn and outlying objects in a sentence."""
    counts = facts.counts
    n = counts.n_objects
    if counts.n_certain == n:
        return "Every object clearly belongs to one cluster; the partition expresses no doubt."
    parts = [f"{counts.n_certain:,} of them ({format_share(counts.n_certain, n)}) clearly belong to one cluster"]
    if counts.n_torn:
        parts.append(f"{counts.n_torn:,} {'lies' if counts.n_torn == 1 else 'lie'} between clusters")
    if counts.n_outliers:
        parts.append(f"{counts.n_outliers:,} {'fits' if counts.n_outliers == 1 else 'fit'} into none")
    return f"{join_words(parts)}."


def describe_separation(separation: float) -> str:
    """Say how well a rule separates two clusters."""
    if np.isnan(separation):
        return ""
    if separation >= 0.995:
        return "always right for the certain objects of the two"
    return f"right for {(1 + separation) / 2:.0%} of the certain objects of the two"


# ---- verdicts -------------------------------------------------------------------------------------------------------


def verdicts(facts: Facts) -> list[tuple[str, str]]:
    """Return headings and sentences on how far to trust the partition."""
    found = [_judge_stability(facts), _judge_silhouettes(facts), _judge_doubt(facts), _judge_number(facts)]
    return [verdict for verdict in found if verdict is not None]


def _judge_stability(facts: Facts) -> tuple[str, str] | None:
    trust = facts.trust
    if trust.stability is None or trust.jaccard is None:
        return None
    jaccard = trust.jaccard
    shown = np.flatnonzero(np.isfinite(jaccard))
    weak = [facts.data.cluster_name(int(k)) for k in shown if jaccard[k] < _UNSTABLE]
    n_lost = len(jaccard) - len(shown)
    if weak or n_lost > len(jaccard) / 2:
        verdict = "Not all clusters come back"
    else:
        verdict = "The clusters come back" if (jaccard[shown] >= _HIGHLY_STABLE).all() else "Most clusters come back"
    is_sample = trust.n_resampled < facts.counts.n_objects
    of = f"of a sample of {trust.n_resampled:,} objects" if is_sample else "of the objects"
    words = (
        f"The method was run again {trust.stability.n_resamples} times, each time on 80% {of}. Objects stayed in their "
        f"cluster in {trust.stability.mean:.0%} of the runs."
    )
    if weak:
        some = join_words(weak[:6]) + (f" and {len(weak) - 6} more" if len(weak) > 6 else "")
        words += f" Do not build on {some}: hardly found again (Jaccard index below {_UNSTABLE})."
    elif len(shown):
        words += (
            f" The least stable cluster has a Jaccard index of {np.nanmin(jaccard):.2f} (from {_HIGHLY_STABLE} it is "
            "stable)."
        )
    if n_lost:
        lost = "One cluster" if n_lost == 1 else format_count(n_lost, "cluster")
        words += f" {lost} of this report did not show in the sample."
    return verdict, words


def _judge_silhouettes(facts: Facts) -> tuple[str, str] | None:
    silhouette, metric = facts.trust.silhouette, facts.trust.metric
    if silhouette is None or not np.isfinite(silhouette.mean):
        return None
    mean = silhouette.mean
    verdict = "The clusters are well apart"
    if mean < _SEPARATED:
        verdict = "The clusters touch" if mean >= _TOUCHING else "The clusters are hardly separated"
    names = {"precomputed": "the dissimilarities", "gower": "Gower's dissimilarity", "euclidean": "Euclidean distances"}
    sample = f" (of a sample of {len(silhouette):,} objects)" if silhouette.is_sampled else ""
    certain = f", {silhouette.certain_mean:.2f} for the certain ones" if np.isfinite(silhouette.certain_mean) else ""
    by = names.get(metric, f"{metric} distances")
    words = (
        f"Silhouettes compare how near objects are to their own clusters and to the next, by {by}: 1 is perfect, 0 is "
        f"a tie. Their mean is {mean:.2f}{certain}{sample}."
    )
    return verdict, words


def _judge_doubt(facts: Facts) -> tuple[str, str] | None:
    kept = facts.trust.kept
    if kept is None:
        return None
    whole, best = kept.at(1.0), kept.at(_KEPT_SHARE)
    verdict = "The doubt is worth something" if best > whole + 0.005 else "The doubt points at no mistakes"
    if whole > 0.995:
        verdict = "Clusters and known classes agree"
    words = (
        f"Clusters agree with the known classes by an adjusted Rand index of {whole:.2f} for all objects (1 is "
        f"perfect, 0 is chance), and of {best:.2f} for the {_KEPT_SHARE:.0%} of them that the partition is surest of."
    )
    return verdict, words


def _judge_number(facts: Facts) -> tuple[str, str] | None:
    number = facts.number
    if number is None or len(number) < 2:
        return None
    order = np.argsort(-number.support, kind="stable")
    best, second = int(number.n_clusters[order[0]]), int(number.n_clusters[order[1]])
    ratio = float(number.support[order[1]] / max(number.support[order[0]], np.finfo(float).tiny))
    verdict = f"{best} clusters, or perhaps {second}" if ratio >= _CLOSE_SUPPORT else f"{best} clusters fit best"
    words = (
        f"The number was found by four witnesses (silhouettes, two likelihoods, density peaks). The runner-up, "
        f"{second}, has {ratio:.0%} of the support of {best}. If you know the number, say it."
    )
    return verdict, words


# ---- caveats --------------------------------------------------------------------------------------------------------


def caveats(facts: Facts) -> list[str]:
    """Return what a reader should know before acting."""
    data, profiles, n = facts.data, facts.profiles, facts.counts.n_objects
    notes = [note.strip().rstrip(".") for note in data.notes]
    out = [f"{note[:1].upper()}{note[1:]}." for note in notes if note]
    if data.id_columns:
        some = join_words([f"“{name}”" for name in data.id_columns[:5]])
        out.append(f"Columns that name or number the rows are not described: {some}.")
    if data.steps:
        steps = join_words(data.steps)
        out.append(f"Before clustering the table went through {steps}; values shown here are those of the table.")
    if data.frame is not None and (missing := int(data.frame.isna().to_numpy().sum())):
        rows = int(data.frame.isna().any(axis=1).sum())
        out.append(f"{missing:,} cells are missing, in {format_count(rows, 'row')}; the averages shown leave them out.")
    if data.metadata.get("converged") is False:
        out.append("The method stopped before it had converged: more iterations (max_iter) may change the result.")
    if facts.number is not None:
        out.append("The number of clusters was not given but found; see the runner-up above.")
    if profiles is not None and len(profiles.rows) < n:
        out.append(
            f"Profiles were made of a sample of {len(profiles.rows):,} of the {n:,} objects; all counts are of all "
            "objects."
        )
    if profiles is not None and len(profiles.profile.attributes) < profiles.n_columns:
        out.append(
            f"Of {profiles.n_columns:,} columns the {len(profiles.profile.attributes):,} that differ most between the "
            "clusters are described."
        )
    if facts.coordinates is not None and len(facts.coordinates.rows) < n:
        out.append(f"The map shows a sample of {len(facts.coordinates.rows):,} of the {n:,} objects.")
    if facts.explaining_stopped:
        out.append("Explaining objects takes long here: only the first ones have their reasons.")
    if facts.explaining_error is not None:
        out.append(f"Objects could not be explained: {facts.explaining_error}.")
    if data.objects.are_positions:
        out.append("Objects are called by their position in the table; the first is 0.")
    if profiles is not None and data.clustered != []:
        out.append(
            "The clusters were made so that their attributes differ; that they do is no proof that they exist. "
            "Columns that were not clustered are better witnesses."
        )
    if data.X is None:
        out.append("The partition was given without its table, so there are no profiles and no reasons.")
    return out + facts.trust.left_out
