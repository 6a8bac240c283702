"""Arguments with names are matched by name: another order gives the same result."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import ContextualDiscounting, EKNNClassifier
from dempster.cluster import (
    CCM,
    ECM,
    EGMM,
    EVCLUS,
    RECM,
    WMVEC,
    BeliefPeaks,
    ECMdd,
    EKNNClus,
)
from dempster.dissimilarity import DissimilarityPCA
from dempster.explain import (
    CautiousTree,
    credal_silhouette,
    explain_object,
    profile,
    retention_curve,
    set_scores,
    stability,
)
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.partition import credal_rand_index, nearest_pairs
from tests.limits import by_thirds, third_of

N = 24
NAMES = [f"object {i}" for i in range(N)]
rng = np.random.default_rng(0)
CODES = np.arange(N) % 3
X = pd.DataFrame(
    6.0 * np.eye(3)[CODES] + rng.normal(size=(N, 3)), index=NAMES, columns=list("abc")
)
D = pd.DataFrame(
    np.linalg.norm(X.to_numpy()[:, None] - X.to_numpy(), axis=2),
    index=NAMES,
    columns=NAMES,
)
Y = pd.Series(CODES, index=NAMES)
WEIGHTS = pd.Series(rng.uniform(0.2, 5, N), index=NAMES)
LABELS = pd.Series(rng.integers(0, 3, N), index=NAMES)
MASSES = MassFunctions(rng.dirichlet(np.ones(5), N), FocalSets.simple(3), NAMES)
PARTITION = CredalPartition(MASSES)
TREE = CautiousTree(4).fit(X, PARTITION)
NEAREST = EKNNClassifier(3).fit(X, LABELS)


def stable(X, weights, **start):
    method = ECM(3, random_state=0, **(start or {"n_init": 1}))
    return stability(method, X, 2, random_state=0, sample_weight=weights).rand


def discounted(masses, rate):
    found = masses.discount(rate)
    return found.masses[[list(found.index).index(name) for name in NAMES]]


MATCHED = {
    "labels and a table, profiled": (lambda p, x: profile(p, x).statistics["mean"], LABELS, X),
    "labels and a table, in a silhouette": (lambda p, x: np.sort(credal_silhouette(p, x).values), LABELS, X),
    "labels and classes": (lambda p, y: set_scores(p, y).to_frame().to_numpy(), LABELS, Y),
    "labels and labels": (lambda p, y: float(credal_rand_index(p, y)), LABELS, Y),
    "a partition, classes and doubt": (lambda p, y, d: retention_curve(p, y, doubt=d).quality, PARTITION, Y, WEIGHTS),
    "a partition and weights": (lambda p, w: nearest_pairs(p, 1, w), PARTITION, WEIGHTS),
    "mass functions and rates": (discounted, MASSES, WEIGHTS / 6),
    "mass functions, classes and weights": (
        lambda m, y, w: ContextualDiscounting().fit(m, y, w).rates_, MASSES, Y, WEIGHTS,
    ),
    "attributes beside dissimilarities": (
        lambda d, a: explain_object(PARTITION, d, NAMES[3], metric="precomputed", attributes=a).contributions, D, X,
    ),
    "a tree": (lambda x, p: CautiousTree(4).fit(x, p).predict_mass(X).masses, X, PARTITION),
    "a tree of labels": (lambda x, p: CautiousTree(4).fit(x, p).predict_mass(X).masses, X, LABELS),
    "the score of a classifier": (lambda x, y, w: NEAREST.score(x, y, w), X, Y, WEIGHTS),
}  # fmt: skip


def other_order(value, seed=1):
    order = np.random.default_rng(seed).permutation(N)
    if hasattr(value, "iloc"):
        return value.iloc[order]
    return value[order]


@pytest.mark.parametrize("which", MATCHED)
def test_arguments_are_matched_by_name(which):
    meet, *arguments = MATCHED[which]
    expected = meet(*arguments)
    for k, value in enumerate(arguments):
        moved = [*arguments[:k], other_order(value), *arguments[k + 1 :]]
        np.testing.assert_allclose(
            meet(*moved), expected, atol=1e-9, err_msg=f"argument {k}"
        )


ANSWERS = list("abc")
COLUMN = pd.Series([0.2, 0.3, 0.5], ANSWERS)
SQUARE_TABLE = pd.DataFrame([[0, 2, 1], [3, 0, 3], [1, 1, 0]], ANSWERS, ANSWERS)
ON_ANSWERS = MassFunctions(MASSES.masses, MASSES.focal_sets, frame=ANSWERS)
CLASSIFIER = EKNNClassifier(3).fit(X, np.array(ANSWERS)[LABELS])
COUNTS = pd.DataFrame(2 + rng.random((4, 3)), columns=ANSWERS)
OF_ANSWERS = {
    "losses": (lambda v: ON_ANSWERS.expected_losses(losses=v), SQUARE_TABLE),
    "losses with a row more": (
        lambda v: ON_ANSWERS.expected_losses(losses=v),
        pd.DataFrame(rng.random((4, 2)), [*ANSWERS, "none"]),
    ),
    "decisions": (lambda v: ON_ANSWERS.decide(losses=v), SQUARE_TABLE),
    "a prior": (lambda v: MassFunctions.from_dirichlet(COUNTS, prior=v).masses, COLUMN),
    "scales": (
        lambda v: (
            EKNNClassifier(3, gamma=v)
            .fit(X, np.array(ANSWERS)[LABELS])
            .predict_mass(X)
            .masses
        ),
        COLUMN,
    ),
    "views": (
        lambda v: (
            WMVEC(3, view_weights=v, n_init=1, random_state=0)
            .fit({"a": X, "b": X**2, "c": -X})
            .view_weights_
        ),
        COLUMN,
    ),
    "labels to start from": (
        lambda v: EKNNClus(init=v, random_state=0).fit(X).labels_,
        LABELS,
    ),
    "components to start from": (
        lambda v: (
            ParsimoniousGaussianMixture(3, model="EII", init=v, max_iter=1)
            .fit(X)
            .predict_proba(X)
        ),
        LABELS,
    ),
}


@pytest.mark.filterwarnings("ignore:.*converge")
@pytest.mark.parametrize("which", OF_ANSWERS)
def test_answers_views_and_starts_are_matched_by_name(which):
    call, value = OF_ANSWERS[which]
    expected = call(value)
    other = call(value[::-1])
    np.testing.assert_array_equal(other, expected)
    assert not np.array_equal(call(value.to_numpy()[::-1]), expected)


def test_resamples_match_by_name():
    np.testing.assert_allclose(stable(X, other_order(WEIGHTS)), stable(X, WEIGHTS))
    start = CredalPartition(CredalPartition.from_hard(CODES), index=NAMES)
    np.testing.assert_allclose(
        stable(X, WEIGHTS, init=start[::-1]), stable(X, WEIGHTS, init=start)
    )
    method = EVCLUS(3, metric="precomputed", n_init=1, random_state=0)
    one, other = (
        stability(method, d, 2, random_state=0).rand for d in (D, D[NAMES[::-1]])
    )
    np.testing.assert_allclose(one, other)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("method", [ECM, CCM, EGMM, WMVEC])
def test_columns_of_centers_are_matched_by_name(method):
    centers = X.iloc[:3] + 0.1
    one, other = (
        method(3, init=given, max_iter=1).fit(X)
        for given in (centers, centers[list("cab")])
    )
    np.testing.assert_array_equal(
        one.credal_partition_.masses, other.credal_partition_.masses
    )
    assert list(other.init.columns) == list("cab")


def test_start_with_other_objects_raises():
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        ECM(3, init=PARTITION[:5]).fit(X)


def test_columns_of_dissimilarities_are_matched_by_name():
    for explained in (
        PARTITION,
        EVCLUS(3, metric="precomputed", n_init=1, random_state=0).fit(D),
    ):
        one, other = (
            explain_object(explained, d, NAMES[3], metric="precomputed")
            for d in (D, D[NAMES[::-1]])
        )
        np.testing.assert_allclose(one.contributions, other.contributions)
        assert [e.name for e in one.exemplars] == [e.name for e in other.exemplars]


KINDS_OF_NAMES = {
    "text": NAMES,
    "numbers": list(range(100, 100 + N)),
    "fractions": [k / 2 for k in range(1, N + 1)],
    "dates": list(pd.date_range("2020", periods=N)),
    "several levels": [("a", k) for k in range(N)],
    "text and numbers": [k + 50 if k % 2 else f"object {k}" for k in range(N)],
    "every second number": pd.RangeIndex(0, 2 * N, 2),
}
SQUARE = {
    **{
        m.__name__: lambda m=m: m(3, metric="precomputed", random_state=0)
        for m in (EVCLUS, RECM, ECMdd, BeliefPeaks)
    },
    "EKNNClus": lambda: EKNNClus(metric="precomputed", random_state=0),
    "EKNNClassifier": lambda: EKNNClassifier(3, metric="precomputed"),
    "DissimilarityPCA": lambda: DissimilarityPCA(2, random_state=0),
}


def of_new(model, D):
    if hasattr(model, "transform"):
        return model.transform(D)
    if hasattr(model, "predict_mass"):
        return model.predict_mass(D).masses
    return model.predict(D)


@by_thirds
@pytest.mark.parametrize("which", SQUARE)
def test_columns_of_square_tables_are_matched_by_name(which, third):
    values = D.to_numpy()
    order = np.random.default_rng(2).permutation(N)
    expected = of_new(SQUARE[which]().fit(values, CODES), values[:5] + 0.01)
    for kind in third_of(KINDS_OF_NAMES, list(SQUARE).index(which), third):
        names = KINDS_OF_NAMES[kind]
        if kind == "several levels":
            names = pd.MultiIndex.from_tuples(names)
        else:
            names = pd.Index(names)
        table = pd.DataFrame(values, index=names, columns=names)
        new = table.iloc[:5] + 0.01
        for given in (table, table.iloc[:, order]):
            model = SQUARE[which]().fit(given, CODES)
            np.testing.assert_allclose(
                of_new(model, new), expected, atol=1e-9, err_msg=kind
            )
            np.testing.assert_allclose(
                of_new(model, new.iloc[:, order]), expected, atol=1e-9, err_msg=kind
            )
        with pytest.raises(ValueError, match="names"):
            of_new(model, new.set_axis([f"other {k}" for k in range(N)], axis=1))


def test_columns_of_polars_are_matched_by_name():
    table = pl.DataFrame(D.to_numpy(), schema=NAMES)
    for which in ("ECMdd", "EKNNClassifier"):
        model = SQUARE[which]().fit(table, CODES)
        np.testing.assert_allclose(
            of_new(model, table[:, ::-1]), of_new(model, table), atol=1e-9
        )


def test_new_object_with_other_names_raises():
    new = pd.Series([1.0, 2.0, 3.0], index=list("abc"))
    model = ECM(3, n_init=1, random_state=0).fit(X)
    one, other = (explain_object(model, X, i) for i in (new, new[::-1]))
    np.testing.assert_allclose(one.contributions, other.contributions)
    for wrong in (
        new.set_axis(list("xyz")),
        new.set_axis(list("aab")),
        new.to_frame().T.set_axis(list("xyz"), axis=1),
    ):
        with pytest.raises(InvalidInputError, match=r"\bi\b"):
            explain_object(model, X, wrong)
    with pytest.raises(InvalidInputError, match="^i must be one row"):
        explain_object(PARTITION, [X, 2 * X], [new, 2 * new])


FACTORIES = {
    "masses": lambda t: MassFunctions(t, FocalSets.from_sets(2, [(0,), (1,)])),
    "contour": MassFunctions.from_contour,
    "pignistic": MassFunctions.from_pignistic,
    "dirichlet": lambda t: MassFunctions.from_dirichlet(t + 1),
    "counts": MassFunctions.from_counts,
    "fuzzy": CredalPartition.from_fuzzy,
    "soft": CredalPartition.from_soft,
    "rough": lambda t: CredalPartition.from_rough(t > 0.4),
}


@pytest.mark.parametrize("which", FACTORIES)
def test_names_of_tables_are_kept(which):
    table = pd.DataFrame(
        [[1.0, 0.0], [0.25, 0.75]], index=["x", "y"], columns=["left", "right"]
    )
    made = FACTORIES[which](table)
    assert list(made.index) == ["x", "y"]
    assert made.frame == ((0, 1) if which == "masses" else ("left", "right"))
    assert made.conflict(FACTORIES[which](table[::-1])) == pytest.approx(
        made.conflict(made)
    )
    if which not in ("fuzzy", "soft", "rough"):  # These accept only tables.
        # Its names are the column names.
        assert FACTORIES[which](table.iloc[0]).index is None


def test_columns_named_as_sets_are_matched_by_name():
    table = PARTITION.to_frame()
    again = CredalPartition(table[table.columns[::-1]], PARTITION.focal_sets)
    np.testing.assert_allclose(again.masses, PARTITION.masses)
    assert list(again.index) == NAMES


def test_index_has_one_name_for_each_row():
    two = PARTITION.masses[:2]
    for index in (
        {1, 2},
        {1: "a", 2: "b"},
        np.ones((2, 2)),
        PARTITION.to_frame()[:2],
        [[1], [2]],
        "ab",
        2,
    ):
        with pytest.raises(InvalidInputError, match=r"\bindex\b"):
            CredalPartition(two, PARTITION.focal_sets, index)
    pairs = CredalPartition(two, PARTITION.focal_sets, [("a", 1), ("b", 2)])
    assert list(pairs[[1]].index) == [("b", 2)]
