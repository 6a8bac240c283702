"""What a report says in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dempster.apps.report._facts.described import called
from dempster.apps.report._facts.facts import Facts
from dempster.explain.words import numbered

__all__ = ["what_was_done", "what_was_found", "share", "listed", "verdicts", "caveats", "separation_words"]

_STABLE, _HIGHLY, _DOUBTFUL = 0.75, 0.85, 0.6  # Jaccard indices (Hennig, 2007)
_APART, _TOUCHING = 0.5, 0.25  # silhouettes (Kaufman and Rousseeuw, 1990)
_KEPT = 0.8
_CLOSE = 0.9  # of the support of the best candidate


def share(part: int, whole: int) -> str:
    """``12%``; ``<1%`` and ``>99%`` where rounding would say none or all."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 1:
        return "<1%"
    return ">99%" if 99 < percent < 100 else f"{percent:.0f}%"


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def what_was_done(facts: Facts) -> str:
    """Method, objects, clusters and attributes in a sentence."""
    case, counts = facts.case, facts.counts
    method = case.metadata.get("method") or (type(case.model).__name__ if case.model is not None else None)
    objects, clusters = numbered(counts.n_objects), numbered(counts.n_clusters, "cluster")
    by = ""
    if case.is_pairwise:
        by = " by their dissimilarities"
    elif case.model is not None and case.frame is not None:
        by = f" by {numbered(len(case.clustered) if case.clustered else np.shape(case.given)[-1], 'attribute')}"
    chosen = ", a number found from the data," if facts.number is not None else ""
    if method is None:
        return f"{objects} were sorted into {clusters}."
    return f"{method} sorted {objects} into {clusters}{chosen}{by}."


def what_was_found(facts: Facts) -> str:
    """Certain, torn and outlying objects in a sentence."""
    counts = facts.counts
    n = counts.n_objects
    if counts.n_certain == n:
        return "Every object clearly belongs to one cluster; the partition expresses no doubt."
    parts = [f"{counts.n_certain:,} of them ({share(counts.n_certain, n)}) clearly belong to one cluster"]
    if counts.n_torn:
        lie = "lies" if counts.n_torn == 1 else "lie"
        parts.append(f"{counts.n_torn:,} {lie} between clusters")
    if counts.n_outliers:
        fit = "fits" if counts.n_outliers == 1 else "fit"
        parts.append(f"{counts.n_outliers:,} {fit} into none")
    return f"{listed(parts)}."


def separation_words(separation: float) -> str:
    """How well a rule tells two clusters apart."""
    if np.isnan(separation):
        return ""
    if separation >= 0.995:
        return "always right for the certain objects of the two"
    return f"right for {(1 + separation) / 2:.0%} of the certain objects of the two"


def verdicts(facts: Facts) -> list[tuple[str, str]]:
    """How far to trust the partition: headings, and what was found in plain words."""
    found = [_of_stability(facts), _of_silhouettes(facts), _of_doubt(facts), _of_number(facts)]
    return [verdict for verdict in found if verdict is not None]


def _of_stability(facts: Facts) -> tuple[str, str] | None:
    drawn = facts.trust.drawn
    if drawn is None:
        return None
    jaccard = drawn.jaccard
    known = np.flatnonzero(np.isfinite(jaccard))
    n_clusters = len(jaccard)
    weak = [called(facts.case, int(k)) for k in known if jaccard[k] < _DOUBTFUL]
    lost = n_clusters - len(known)
    if weak or lost > n_clusters / 2:
        verdict = "Not all clusters come back"
    else:
        verdict = "The clusters come back" if (jaccard[known] >= _STABLE).all() else "Most clusters come back"
    of = (
        "of the objects" if drawn.n_objects == facts.counts.n_objects else f"of a sample of {drawn.n_objects:,} objects"
    )
    words = (
        f"The method was run again {drawn.found.n_resamples} times, each time on 80% {of}. Objects stayed in their "
        f"cluster in {drawn.found.mean:.0%} of the runs."
    )
    if weak:
        some = listed(weak[:6]) + (f" and {len(weak) - 6} more" if len(weak) > 6 else "")
        words += f" Do not build on {some}: hardly found again (Jaccard index below {_DOUBTFUL})."
    elif len(known):
        words += (
            f" The least stable cluster has a Jaccard index of {np.nanmin(jaccard):.2f} (from {_STABLE} it is stable)."
        )
    if lost:
        words += (
            f" {numbered(lost, 'cluster')} of this report did not show in the sample."
            if lost > 1
            else (" One cluster of this report did not show in the sample.")
        )
    return verdict, words


def _of_silhouettes(facts: Facts) -> tuple[str, str] | None:
    silhouette = facts.trust.silhouette
    if silhouette is None or not np.isfinite(silhouette.mean):
        return None
    mean = silhouette.mean
    verdict = "The clusters are well apart"
    if mean < _APART:
        verdict = "The clusters touch" if mean >= _TOUCHING else "The clusters are hardly separated"
    by = {"precomputed": "the dissimilarities", "gower": "Gower's dissimilarity"}.get(
        facts.trust.metric, f"{facts.trust.metric.replace('euclidean', 'Euclidean')} distances"
    )
    sample = f" (of a sample of {len(silhouette):,} objects)" if silhouette.is_sampled else ""
    certain = f", {silhouette.certain_mean:.2f} for the certain ones" if np.isfinite(silhouette.certain_mean) else ""
    words = (
        f"Silhouettes compare how near objects are to their own clusters and to the next, by {by}: 1 is perfect, 0 is "
        f"a tie. Their mean is {mean:.2f}{certain}{sample}."
    )
    return verdict, words


def _of_doubt(facts: Facts) -> tuple[str, str] | None:
    kept = facts.trust.kept
    if kept is None:
        return None
    whole, best = kept.at(1.0), kept.at(_KEPT)
    verdict = "The doubt is worth something" if best > whole + 0.005 else "The doubt points at no mistakes"
    if whole > 0.995:
        verdict = "Clusters and known classes agree"
    words = (
        f"Clusters agree with the known classes by an adjusted Rand index of {whole:.2f} for all objects (1 is "
        f"perfect, 0 is chance), and of {best:.2f} for the {_KEPT:.0%} of them that the partition is surest of."
    )
    return verdict, words


def _of_number(facts: Facts) -> tuple[str, str] | None:
    number = facts.number
    if number is None or len(number) < 2:
        return None
    order = np.argsort(-number.support, kind="stable")
    best, second = int(number.n_clusters[order[0]]), int(number.n_clusters[order[1]])
    ratio = float(number.support[order[1]] / max(number.support[order[0]], np.finfo(float).tiny))
    verdict = f"{best} clusters, or perhaps {second}" if ratio >= _CLOSE else f"{best} clusters fit best"
    words = (
        f"The number was found by four witnesses (silhouettes, two likelihoods, density peaks). The runner-up, "
        f"{second}, has {ratio:.0%} of the support of {best}. If you know the number, say it."
    )
    return verdict, words


def caveats(facts: Facts, notes: Sequence[str]) -> list[str]:
    """What a reader should know before acting."""
    case = facts.case
    out = [_sentence(note) for note in notes]
    if case.naming:
        some = listed([f"“{name}”" for name in case.naming[:5]])
        out.append(f"Columns that name or number the rows are not described: {some}.")
    if case.steps:
        out.append(
            f"Before clustering the table went through {listed(case.steps)}; values shown here are those of the table."
        )
    if case.frame is not None and (missing := int(case.frame.isna().to_numpy().sum())):
        rows = int(case.frame.isna().any(axis=1).sum())
        out.append(f"{missing:,} cells are missing, in {numbered(rows, 'row')}; the averages shown leave them out.")
    if case.metadata.get("converged") is False:
        out.append("The method stopped before it had converged: more iterations (max_iter) may change the result.")
    if facts.number is not None:
        out.append("The number of clusters was not given but found; see the runner-up above.")
    out += _of_sampling(facts)
    if case.objects.are_positions:
        out.append("Objects are called by their position in the table; the first is 0.")
    if facts.described is not None and case.clustered != []:
        out.append(
            "The clusters were made so that their attributes differ; that they do is no proof that they exist. "
            "Columns that were not clustered are better witnesses."
        )
    if case.X is None:
        out.append("The partition was given without its table, so there are no profiles and no reasons.")
    out += facts.trust.left_out
    return out


def _of_sampling(facts: Facts) -> list[str]:
    out = []
    n, found = facts.counts.n_objects, facts.described
    if found is not None and found.n_rows < n:
        out.append(
            f"Profiles were made of a sample of {found.n_rows:,} of the {n:,} objects; all counts are of all objects."
        )
    if found is not None and len(found.profile.attributes) < found.n_columns:
        out.append(
            f"Of {found.n_columns:,} columns the {len(found.profile.attributes):,} that differ most between the "
            "clusters are described."
        )
    if facts.places is not None and len(facts.places.rows) < n:
        out.append(f"The map shows a sample of {len(facts.places.rows):,} of the {n:,} objects.")
    if facts.reasons.stopped:
        out.append("Explaining objects takes long here: only the first ones have their reasons.")
    if facts.reasons.trouble is not None:
        out.append(f"Objects could not be explained: {facts.reasons.trouble}.")
    return out


def _sentence(note: str) -> str:
    text = note.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""
