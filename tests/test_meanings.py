"""What is nearly the right thing means what it says, or is refused: numbers of small types, truth values among numbers,
text that looks like numbers, tables where names are wanted, lists that can be gone through once."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.apps.recipe import choose_attributes
from dempster.classify import EKNNClassifier, EvidenceFromClassifier, EvidentialRBFClassifier
from dempster.cluster import CCM, ECM, EGMM, MECM, NNEVCLUS, WMVEC, BootClus, CatECM
from dempster.explain import CautiousTree, explain_object, profile, set_scores
from dempster.explain.cautious_tree import Node, costs_by_leaves, prune
from dempster.metric import KFDA, KPCCA, PCCA, DMLEig
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.optimize.blocks import n_threads
from dempster.partition import credal_rand_index, embed_partitions, nearest_pairs
from tests.cluster.contract import answer, categories

pytestmark = pytest.mark.filterwarnings("ignore:.*did not converge")

rng = np.random.default_rng(0)
Y = np.arange(24) % 3
X = 6.0 * np.eye(3)[Y] + rng.normal(size=(24, 3))
HARD = CredalPartition.from_hard(Y)
SMALL = {
    "bootstraps": (lambda v: BootClus(3, n_bootstraps=v, mixture="EII", random_state=0), np.int8(3)),
    "starts": (lambda v: MECM(3, n_init=v, random_state=0), np.uint8(200)),
    "iterations": (lambda v: EKNNClassifier(3, max_iter=v), np.int8(127)),
    "a fraction": (lambda v: CCM(3, gamma=v, n_init=1, random_state=0), np.float32(1.1)),
}


@pytest.mark.parametrize("which", SMALL)
def test_numbers_of_small_types_are_the_numbers_they_are(which):
    make, number = SMALL[which]
    small, plain = (make(value).fit(X, Y) for value in (number, number.item()))
    one, other = (m.predict_mass(X).masses for m in (small, plain))
    np.testing.assert_array_equal(one, other)
    assert type(number) in map(type, small.get_params().values())


def test_a_truth_value_is_no_cluster():
    for wrong in (True, False, np.True_, np.False_):
        assert not len(CredalPartition.from_hard(Y, noise=wrong).outliers)
        assert set_scores(HARD, Y, noise=wrong).held == 1
        with pytest.raises(InvalidInputError, match=r"\bsets\b"):
            HARD.belief(wrong)
        with pytest.raises(InvalidInputError, match=r"\bsecond\b"):
            profile(HARD, X).discriminating_features(2, wrong)
        with pytest.raises(InvalidInputError, match=r"\bfirst\b"):
            explain_object(HARD, X, 0).between(wrong)
    assert len(CredalPartition.from_hard(Y == 0, noise=False).outliers) == 16
    assert CredalPartition.from_hard(["None", "some", "None"], noise=None).n_clusters == 2
    assert set_scores(HARD, Y, noise=pd.NA).held == 1


TABLE = np.arange(9).reshape(3, 3)
NAMES = {
    "cluster_names": lambda v: FocalSets.simple(3).names(v),
    "names": lambda v: embed_partitions([Y, Y, Y[::-1]], v),
    "feature_names": lambda v: explain_object(HARD, X, 0, feature_names=v),
}


@pytest.mark.parametrize("which", NAMES)
def test_rows_of_a_table_are_no_names(which):
    for wrong in (TABLE, TABLE.astype(str), TABLE.tolist()):
        with pytest.raises(InvalidInputError, match=rf"\b{which}\b"):
            NAMES[which](wrong)
    NAMES[which](["a", 2, ("b", 3)])


NUMBERS = {
    "sample_weight": lambda v: ECM(3, n_init=1, random_state=0).fit(X, sample_weight=v),
    "weights": lambda v: nearest_pairs(HARD, 1, v),
    "rate": lambda v: HARD.discount(v),
    "alpha": lambda v: MassFunctions.from_dirichlet(v),
    "init": lambda v: PCCA(2, init=v, random_state=0).fit(X, Y),
    "regularization": lambda v: EvidentialRBFClassifier(3, regularization=v, n_init=1, random_state=0).fit(X, Y),
}


@pytest.mark.parametrize("which", NUMBERS)
def test_text_and_truth_values_are_no_numbers(which):
    half = {"init": np.eye(2, 3), "regularization": np.full(3, 0.5)}.get(which, np.full(24, 0.5))
    for wrong in (True, half.astype(str), half.astype(str).astype(object), half.astype("S"), half.astype(complex)):
        with pytest.raises(InvalidInputError, match=rf"\b{which}\b"):
            NUMBERS[which](wrong)


KERNELS = [pd.Series([3]), np.ones((2, 2)), pd.NA, np.array([]), [np.array(["rbf"])]]


@pytest.mark.parametrize("method", [KPCCA, KFDA])
def test_kernels_are_words(method):
    for wrong in KERNELS:
        with pytest.raises(InvalidInputError, match=r"\bkernel\b"):
            method(kernel=wrong).fit(X, Y)


def test_matrices_of_numpy_are_arrays():
    assert FocalSets.neighbors(np.asmatrix(X[:5])) == FocalSets.neighbors(X[:5])
    with pytest.raises(InvalidInputError, match=r"\bregularization\b"):
        EvidentialRBFClassifier(3, regularization=sparse.eye(3)).fit(X, Y)


def test_seeds_are_looked_at_where_nothing_is_drawn():
    for wrong in ("nonsense", np.nan, True, [3], -1):
        with pytest.raises(InvalidInputError, match=r"\brandom_state\b"):
            credal_rand_index(HARD, HARD, random_state=wrong)


def test_arrays_of_c_are_read_or_refused():
    """Their types belong to no module."""
    given = np.ctypeslib.as_ctypes(X.copy())
    with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
        MECM(3).fit([given])
    found = ECM(3, n_init=1, random_state=0).fit(given)
    np.testing.assert_array_equal(answer(found), answer(ECM(3, n_init=1, random_state=0).fit(X)))


def test_more_leaves_than_objects_take_no_longer():
    few, many = (CautiousTree(k, min_samples_leaf=1).fit(X, HARD) for k in (24, 2**31 - 1))
    assert few.export_text() == many.export_text()
    assert len(many.mistakes_by_leaves_) == 24


def test_trees_may_be_deeper_than_calls():
    node = Node(np.arange(2))
    for k in range(2, 3000):
        node = Node(np.arange(k), column=0, children=(node, Node(np.arange(1))))
    cost = {id(one): float(len(one.rows)) for one in [node, *_below(node)]}
    table = costs_by_leaves(node, cost, 20)
    prune(node, table, 20)
    assert sum(not one.children for one in [node, *_below(node)]) <= 20


def _below(node):
    while node.children:
        yield from node.children
        node = node.children[0]


def test_threads_are_as_many_as_a_system_has():
    assert 1 < n_threads(2**31 - 1) <= 256


def test_labels_that_are_integers_among_objects():
    one, other = (NNEVCLUS(3, network=3, max_iter=3, random_state=0).fit(X, y) for y in (Y, Y.astype(object)))
    np.testing.assert_array_equal(answer(one), answer(other))


LEARNERS = {"DMLEig": DMLEig(random_state=0), "EvidenceFromClassifier": EvidenceFromClassifier()}


@pytest.mark.parametrize("which", LEARNERS)
def test_numbers_may_vanish(which):
    """Also where the program has asked NumPy to raise for them."""
    model, far = LEARNERS[which], 40 * X
    with np.errstate(all="raise"):
        model.fit(far, Y)
        (model.transform if hasattr(model, "transform") else model.predict_mass)(far)


@pytest.mark.parametrize("method", [ECM, CCM, EGMM, WMVEC, CatECM])
def test_given_prototypes_differ(method):
    data = categories(X) if method is CatECM else X
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        method(3, init=data[[0, 1, 0]]).fit(data)


def test_numbers_of_components_can_be_gone_through():
    for wrong in (np.array(None, dtype=object), torch.tensor(3), np.ma.masked, {}, iter([2])):
        with pytest.raises(InvalidInputError, match=r"\bn_components\b"):
            ParsimoniousGaussianMixture(wrong).fit(X)


def test_text_that_a_model_reads_as_numbers_is_explained_as_numbers():
    model = ECM(3, n_init=1, random_state=0).fit(X)
    for text in (X.astype(str), pd.DataFrame(X.astype(str))):
        one, other = (explain_object(model, given, 3) for given in (X, text))
        assert [e.name for e in one.exemplars] == [e.name for e in other.exemplars]
        np.testing.assert_allclose(one.typical, other.typical)


def test_sets_are_no_components():
    partition = ECM(3, n_init=1, random_state=0).fit(X).credal_partition_
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        ParsimoniousGaussianMixture(init=partition).fit(X)
    assert ParsimoniousGaussianMixture(model="EII", init=partition.pignistic()).fit(X).n_components_ == 3


def test_new_objects_are_real():
    with pytest.raises(InvalidInputError, match=r"\bi\b"):
        explain_object(ECM(3, n_init=1, random_state=0).fit(X), X, X[0] + 1j)


def test_names_that_can_be_gone_through_once():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0], "c": list("xyx")})
    assert list(choose_attributes(table, columns=iter(["b"])).values.columns) == ["b"]
    assert list(choose_attributes(table, exclude=iter(["b"])).values.columns) == ["a"]
    assert list(choose_attributes(table, categories=iter(["c"])).values.columns) == ["a", "b", "c"]
    for wrong in (None, 3, 0.5, object()):
        with pytest.raises(InvalidInputError, match=r"\bcategories\b"):
            choose_attributes(table, categories=wrong)


def test_tensors_are_no_categories():
    cells = [[torch.tensor(float(v)) for v in row] for row in X]
    for call in (lambda: CautiousTree(3).fit(cells, HARD), lambda: profile(HARD, cells)):
        with pytest.raises(TypeError, match="cannot be categories"):
            call()
