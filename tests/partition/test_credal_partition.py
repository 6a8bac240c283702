"""Credal partitions: summaries, conversions, errors."""

import html

import numpy as np
import pytest
from hypothesis import given

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidParameterError
from dempster.partition import nearest_pairs
from dempster.partition.compare import cluster_similarity, mutual_neighbors
from tests.strategies import partitions


@pytest.mark.parametrize(
    "name", ["extractmass_full_c3", "extractmass_noempty_c4", "extractmass_pairs_c4"]
)
def test_reference(reference, name):
    case = reference(name)
    cp = CredalPartition(case["mass_in"], FocalSets(case["F_in"]))
    case.assert_equal("N", cp.nonspecificity_index())
    case.assert_equal("conf", cp.empty)
    case.assert_equal("pl", cp.contour)
    case.assert_equal(
        "pl_n", cp.plausibility([(k,) for k in range(cp.n_clusters)], normalized=True)
    )
    case.assert_equal("bel", cp.singleton_belief)
    case.assert_equal("p", cp.plausibility_transform())
    case.assert_equal("betp", cp.pignistic(normalized=False))
    case.assert_equal("betp_n", cp.pignistic())
    untied = case["Y_tied"] == 0
    case.assert_equal("y_pl", cp.labels, where=case["y_pl_tied"] == 0)
    case.assert_equal(
        "y_bel", cp.singleton_belief.argmax(axis=1), where=case["y_bel_tied"] == 0
    )
    case.assert_equal("Y", cp.assignment(), where=untied)
    case.assert_equal(
        "Ynd", cp.assignment("interval_dominance"), where=case["y_bel_tied"] == 0
    )
    lower = np.stack(
        [np.isin(np.arange(len(cp)), cp.lower(k)) for k in range(cp.n_clusters)], axis=1
    )
    upper = np.stack(
        [np.isin(np.arange(len(cp)), cp.upper(k)) for k in range(cp.n_clusters)], axis=1
    )
    case.assert_equal("lower_approx", lower, where=untied)
    case.assert_equal("upper_approx", upper, where=untied)
    case.assert_equal("outlier", np.isin(np.arange(len(cp)), cp.outliers), where=untied)


def test_reference_of_hard_and_fuzzy_partitions(reference):
    case = reference("hard_fuzzy_credpart")
    hard = CredalPartition.from_hard(case["y"])
    np.testing.assert_allclose(
        hard.to_family(FocalSets(case["hard_F"])).masses, case["hard_mass"]
    )
    assert hard.nonspecificity_index() == pytest.approx(float(case["hard_N"]))
    fuzzy = CredalPartition.from_fuzzy(case["U"])
    np.testing.assert_allclose(
        fuzzy.to_family(FocalSets(case["fuzzy_F"])).masses,
        case["fuzzy_mass"],
        atol=1e-12,
    )
    assert fuzzy.nonspecificity_index() == pytest.approx(float(case["fuzzy_N"]))


@pytest.mark.parametrize("name", ["createpairs_fourclass", "createpairs_s2"])
def test_reference_of_nearest_pairs(reference, name):
    case = reference(name)
    c = case.parameters["c"]
    omega = case.parameters["omega"]
    cp = CredalPartition(case["mass"], FocalSets.simple(c, omega=omega))
    case.assert_equal("S", cluster_similarity(cp))
    for k in case.parameters["k"]:
        assert set(nearest_pairs(cp, k)) == {
            tuple(sorted(pair)) for pair in case[f"pairs_k{k}"].tolist()
        }


def test_mutual_neighbors():
    """The similarity of a cluster with itself may not be the largest of its row."""
    similarity = np.array([[0.1, 0.5, 0.3], [0.5, 0.9, 0.2], [0.3, 0.2, 0.9]])
    assert mutual_neighbors(similarity) == [(0, 1)]
    assert mutual_neighbors(similarity, 2) == [(0, 1), (0, 2), (1, 2)]


@given(partitions())
def test_summaries_agree_with_the_masses(cp):
    assigned = cp.assignment()
    lower = [set(cp.lower(k)) for k in range(cp.n_clusters)]
    upper = [set(cp.upper(k)) for k in range(cp.n_clusters)]
    for k in range(cp.n_clusters):
        assert lower[k] <= upper[k]
    # lower approximations are disjoint
    assert sum(map(len, lower)) == len(set().union(*lower))
    assert not set(cp.outliers) & set().union(*upper)
    assert set(cp.outliers) == set(np.flatnonzero(~assigned.any(axis=1)))
    assert set(cp.ambiguous) == set(np.flatnonzero(assigned.sum(axis=1) > 1))
    dominance = cp.assignment("interval_dominance")
    assert dominance.any(axis=1).all()
    assert not cp.assignment("interval_dominance", keep_outliers=False)[
        cp.outliers
    ].any()
    assert 0 <= cp.nonspecificity_index() <= 1
    np.testing.assert_allclose(cp.plausibility_transform().sum(axis=1), 1)
    assert (cp.labels_with_outliers[cp.outliers] == -1).all()
    others = np.setdiff1d(np.arange(len(cp)), cp.outliers)
    assert (cp.labels_with_outliers[others] == cp.labels[others]).all()


@given(partitions())
def test_permuting_objects_permutes_the_summaries(cp):
    order = np.random.default_rng(0).permutation(len(cp))
    np.testing.assert_array_equal(cp[order].labels, cp.labels[order])
    np.testing.assert_array_equal(cp[order].assignment(), cp.assignment()[order])


def test_ties():
    family = FocalSets.from_sets(2, [(0, 1), (1,), (0,), ()])
    cp = CredalPartition(
        [[0.5, 0, 0.5, 0], [0, 0.5, 0.5, 0], [0.25, 0.25, 0.25, 0.25]], family
    )
    assert cp.assignment().tolist() == [[True, False], [False, True], [False, False]]
    assert cp.labels.tolist() == [0, 0, 0]


def test_round_trips():
    labels = np.array(["b", "a", "c", "a"])
    cp = CredalPartition.from_hard(labels)
    assert np.array(cp.frame)[cp.labels].tolist() == labels.tolist()
    u = np.array([[0.2, 0.8], [0.5, 0.5]])
    cp = CredalPartition.from_fuzzy(u)
    np.testing.assert_allclose(cp.contour, u)
    np.testing.assert_allclose(cp.singleton_belief, u)
    possible = np.array([[1.0, 0.4, 0.4], [0.3, 0.9, 0.0]])
    cp = CredalPartition.from_contour(possible)
    np.testing.assert_allclose(cp.contour, possible)
    assert isinstance(cp, CredalPartition)
    rough = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], dtype=bool)
    cp = CredalPartition.from_rough(rough)
    np.testing.assert_array_equal(cp.assignment(), rough)
    np.testing.assert_array_equal(
        cp[[0, 1, 3]].assignment("interval_dominance"), rough[[0, 1, 3]]
    )
    assert cp.outliers.tolist() == [2]


def test_labels_of_noise():
    """False is not the label 0, and -1 may be written beside names."""
    assert CredalPartition.from_hard([0, 1], noise=False).frame == (0, 1)
    assert CredalPartition.from_hard([True, False], noise=False).frame == (True,)
    assert CredalPartition.from_hard(["a", -1, "b"]).frame == ("a", "b")


def test_noise_labels_become_outliers():
    cp = CredalPartition.from_hard([0, 1, -1, 1])
    assert cp.outliers.tolist() == [2]
    assert cp.labels_with_outliers.tolist() == [0, 1, -1, 1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CredalPartition.from_hard([]), "at least one object"),
        (lambda: CredalPartition.from_hard([-1, -1]), "at least one object"),
        (lambda: CredalPartition.from_hard(["1", 1]), "^labels .*'int' and 'str'"),
        (lambda: CredalPartition.from_hard([0.0, np.nan]), "NaN"),
        (lambda: CredalPartition.from_fuzzy([[0.9, 0.9]]), "from_contour"),
        (lambda: CredalPartition.from_fuzzy([[-0.1, 0.9]]), "of at least"),
        (lambda: CredalPartition.from_rough([[2, 0]]), "Boolean"),
        (
            lambda: CredalPartition.from_hard([0, 1]).lower(2),
            "cluster must .* got 2",
        ),
        (lambda: CredalPartition.from_hard([0, 1]).assignment("x"), "rule must be"),
        (
            lambda: CredalPartition.from_hard([0, 1]).relational([(0, 0)]),
            "two different objects",
        ),
        (lambda: CredalPartition.from_hard([0, 1]).relational([(0, 5)]), "from 0 to 1"),
    ],
)
def test_invalid_arguments(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_summary_counts_and_names():
    family = FocalSets.pairs(3)
    rows = np.eye(len(family))[[1, 1, 2, 3, 4, 7, 0]]
    cp = CredalPartition(rows, family, index=list("abcdefg"))
    summary = cp.summary()
    assert summary.certain.tolist() == [2, 1, 1]
    assert summary.possible.tolist() == [4, 3, 2]
    assert summary.typical == ["a", "c", "d"]
    assert summary.outliers == ["g"]
    assert summary.ambiguous == [((0, 1), 1), ((0, 1, 2), 1)]
    text = str(summary)
    assert "1 between clusters 0 and 1; 1 between all 3 clusters" in text
    assert summary.to_frame().loc["0", "certain"] == 2


def test_summary_is_short_and_narrow_unless_verbose():
    family = FocalSets.pairs(30)
    rows = np.eye(len(family))[np.arange(len(family))]
    choices = {
        "d0": "2.36, " + "the median of the dissimilarities " * 5,
        "n_clusters": "30",
    }
    cp = CredalPartition(
        rows,
        family,
        index=[f"row {i}" for i in range(len(family))],
        metadata={"choices": choices},
    )
    short = str(cp.summary())
    long = str(cp.summary(verbose=True))
    assert "... and 10 smaller clusters" in short
    assert "d0" not in short
    assert "\nchosen: n_clusters = 30" in short
    # A line does not begin inside an entry.
    assert "\n" + " " * 21 + "1 between" in short
    assert "\ncluster 29" in long
    assert "\nchosen: d0 = 2.36, the median" in long
    assert len(short.splitlines()) <= 29
    assert max(map(len, [*short.splitlines(), *long.splitlines()])) <= 80


def test_html_is_the_text_of_the_summary():
    cp = CredalPartition(
        np.eye(4)[[1, 2, 3]],
        FocalSets.full(2),
        list("ab") + ["<i>"],
        frame=["<b>", "y"],
    )
    page = cp._repr_html_()
    assert page == f"<pre>{html.escape(str(cp.summary()))}</pre>"
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_single_cluster():
    cp = CredalPartition([[0.1, 0.9]], FocalSets.simple(1))
    assert cp.nonspecificity_index() == 0
    assert cp.labels.tolist() == [0]


def test_from_mass_functions_and_slices():
    m = MassFunctions.from_dict([{"a": 1.0}, {"b": 1.0}], frame="ab", index=["x", "y"])
    cp = CredalPartition(m, metadata={"method": "by hand"})
    assert cp[1:].index.tolist() == ["y"]
    assert cp[1:].metadata["method"] == "by hand"
    assert "CredalPartition(2 objects, 2 clusters)" in repr(cp)
    with pytest.raises(IndexError):
        cp[5]


# ---- names of the clusters -----------------------------------------------------------------------


def test_clusters_get_names():
    cp = CredalPartition(np.eye(4)[[1, 2, 3, 0]], FocalSets.full(2), list("abcd"))
    named = cp.name_clusters(["oak", "elm"], descriptions={"elm": "tall"})
    assert named.frame == ("oak", "elm")
    assert named.lower("elm").tolist() == [1]
    assert cp.frame == (0, 1)
    assert "descriptions" not in cp.metadata
    text = str(named.summary())
    assert "oak" in text
    assert "cluster" not in text
    assert "1 between oak and elm" in text
    again = named.name_clusters({"elm": 7}, descriptions={"oak": "round"})
    assert again.frame == ("oak", 7)
    assert again.metadata["descriptions"] == {"7": "tall", "oak": "round"}
    np.testing.assert_array_equal(again.masses, cp.masses)
    assert list(again.index) == list("abcd")


@pytest.mark.parametrize(
    ("names", "descriptions", "message"),
    [
        ({2: "x"}, None, "names must be names of clusters .0, 1., got 2"),
        (["x"], None, "names must give 2 different names, got ..x"),
        (["x", "x"], None, "names must give 2 different names"),
        ([1, "1"], None, "names must give 2 different names"),
        (None, None, "names must contain"),
        ({}, {"x": "text"}, "descriptions must be names of clusters .0, 1., got 'x'"),
        ({}, ["text"], "descriptions must be texts by names of clusters"),
    ],
)
def test_wrong_names_of_clusters(names, descriptions, message):
    cp = CredalPartition(np.eye(4), FocalSets.full(2))
    with pytest.raises(InvalidParameterError, match=message):
        cp.name_clusters(names, descriptions=descriptions)
