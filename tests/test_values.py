"""Arguments besides the data: invalid values raise an error with their name, unusual but valid ones are accepted."""

import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from sklearn.cluster import KMeans

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.apps.recipe import choose_attributes
from dempster.classify import (
    ContextualDiscounting,
    EKNNClassifier,
    EvidenceFromClassifier,
    EvidentialRBFClassifier,
)
from dempster.cluster import (
    CCM,
    CECM,
    ECM,
    EGMM,
    MECM,
    NNEVCLUS,
    WMVEC,
    BootClus,
    CatECM,
    ECMdd,
    EKNNClus,
)
from dempster.constraints import Constraints
from dempster.explain import (
    CautiousTree,
    explain_object,
    profile,
    stability,
)
from dempster.explain.cautious_tree import Node, add_costs, prune
from dempster.metric import FDA, DMLEig
from dempster.mixture import GaussianParameters, ParsimoniousGaussianMixture
from dempster.model_selection import n_clusters_curve
from dempster.optimize.blocks import n_threads
from dempster.partition import (
    RelationalPartition,
    credal_rand_index,
    embed_partitions,
    nearest_pairs,
)
from tests.cluster.contract import categories
from tests.limits import limited

pytestmark = pytest.mark.filterwarnings("ignore")

N = 24
CODES = np.arange(N) % 3
X = 6.0 * np.eye(3)[CODES] + np.random.default_rng(0).normal(size=(N, 3))
D = np.linalg.norm(X[:, None] - X, axis=2)
CENTERS = X[:3]
PARTITION = CredalPartition.from_hard(CODES)


def masked(values):
    values = np.asarray(values)
    return np.ma.masked_array(values, np.arange(values.size).reshape(values.shape) == 1)


def mixture(init):
    return ParsimoniousGaussianMixture(3, model="EII", init=init).fit(X)


def gaussians(**changes):
    given = {
        "proportions": [0.5, 0.5],
        "means": np.zeros((2, 3)),
        "covariances": [np.eye(3)] * 2,
        "model": "EII",
    }
    return GaussianParameters(**(given | changes))


def network(**given):
    return NNEVCLUS(3, network=3, max_iter=1, random_state=0).fit(X, **given)


INVALID = {
    "init of ECM, masked": lambda: ECM(3, init=masked(CENTERS)).fit(X),
    "init of ECM, complex": lambda: ECM(3, init=CENTERS * 1j).fit(X),
    "init of CCM, text": lambda: CCM(3, init=np.full((3, 3), "word")).fit(X),
    "init of CCM, huge": lambda: CCM(3, init=CENTERS * 1e200).fit(X),
    "init of EGMM, complex": lambda: EGMM(3, init=CENTERS + 0j).fit(X),
    "init of EGMM, huge": lambda: EGMM(3, init=CENTERS * 1e200).fit(X),
    "init of MECM, masked": lambda: MECM(3, init=masked([0, 1, 2])).fit(X),
    "init of EKNNClus, missing": lambda: EKNNClus(init=[None, *CODES[1:]]).fit(X),
    "init of a mixture, missing": lambda: mixture(np.where(CODES == 1, np.nan, CODES)),
    "init of a mixture, masked": lambda: mixture(masked(CODES)),
    "init of a mixture, complex": lambda: mixture(np.eye(3)[CODES] + 0j),
    "model": lambda: gaussians(model="round"),
    "orientation": lambda: gaussians(orientation=np.eye(2)),
    "y of a network, masked": lambda: network(y=masked(CODES)),
    "dissimilarities, complex": lambda: network(dissimilarities=D + 0j),
    "dissimilarities, masked": lambda: network(dissimilarities=masked(D)),
    "max_iter without end": lambda: BootClus(3, max_iter=2**31 - 1).fit(X),
    "i, complex": lambda: explain_object(
        ECM(3, n_init=1, random_state=0).fit(X), X, X[0] + 1j
    ),
    "regularization, sparse": lambda: EvidentialRBFClassifier(
        3, regularization=sparse.eye(3)
    ).fit(X, CODES),
    "rows, masked": lambda: Constraints([(0, 1)], n_objects=3)[masked([0, 1, 2])],
    "statistic": lambda: profile(PARTITION, X).to_frame(pd.NA),
    "second": lambda: profile(PARTITION, X).discriminating_features(0, pd.NA),
    "clustered": lambda: profile(PARTITION, X, clustered=3),
    "attributes": lambda: explain_object(
        PARTITION, D, 0, metric="precomputed", attributes=X + 0j
    ),
    "X, dissimilarities below zero": lambda: explain_object(
        PARTITION, -D, 0, metric="precomputed"
    ),
    "X, complex": lambda: explain_object(PARTITION, X + 0j, 0),
    "X, a function of an argument": lambda: ECM(3).fit(lambda rows: X),
    "X, a Dask column": lambda: ECM(3).fit(
        dd.from_pandas(pd.Series(X[:, 0]), npartitions=2)
    ),
    "X, a Dask bag": lambda: ECM(3).fit(dask.bag.from_sequence([1, 2])),
    "X, a table of Arrow, by a method that needs all objects": lambda: CECM(3).fit(
        pa.table({"a": X[:, 0]})
    ),
    "X, a Dask column elsewhere": lambda: FDA().fit(da.zeros(9), CODES[:9]),
    "X, a Dask table of text": lambda: EKNNClassifier(1).fit(
        dd.from_pandas(pd.DataFrame({"a": list("uvw")}), npartitions=1), CODES[:3]
    ),
    "X, one axis for Gower": lambda: ECMdd(3, metric="gower").fit(X[:, 0]),
    "X, no rows for Gower": lambda: (
        ECMdd(3, metric="gower", n_init=1).fit(X).predict(pd.DataFrame(X).iloc[:0])
    ),
    "column names twice among categories": lambda: CatECM(2).fit(
        pd.DataFrame(X.round().astype(int), columns=list("aab"))
    ),
    "metric, a table": lambda: NNEVCLUS(3, metric=pd.DataFrame(X)).fit(X),
    "estimator, a class to refit": lambda: stability(KMeans, X),
    "estimator, a class for a curve": lambda: n_clusters_curve(ECM, X),
    "estimator, a class to explain": lambda: explain_object(ECM, X, 0),
}


@pytest.mark.parametrize("which", INVALID)
def test_invalid_values(which):
    name = which.split(",")[0].split(" ")[0]
    with (
        limited(),
        pytest.raises((ValueError, TypeError, IndexError), match=rf"\b{name}\b"),
    ):
        INVALID[which]()


VALID = {
    "a matrix": (lambda v: explain_object(PARTITION, v, 0).contributions, X, np.asmatrix(X)),
    "nothing masked": (lambda v: explain_object(PARTITION, v, 0).contributions, X, np.ma.masked_array(X)),
    "half the digits": (
        lambda v: ECM(3, random_state=0).fit(v).credal_partition_.masses,
        torch.tensor(X).bfloat16().float().numpy(), torch.tensor(X).bfloat16(),
    ),
    "labels of type object": (lambda v: network(y=v).credal_partition_.masses, CODES, CODES.astype(object)),
    "masses of torch": (
        lambda v: RelationalPartition(v).totals(), PARTITION,
        CredalPartition(torch.tensor(PARTITION.masses), PARTITION.focal_sets),
    ),
    "by keyword": (lambda v: ContextualDiscounting().fit(PARTITION, CODES).transform(**v).masses,
                   {"masses": PARTITION}, {"masses": MassFunctions(PARTITION)}),
}  # fmt: skip


@pytest.mark.parametrize("which", VALID)
def test_unusual_but_valid_values(which):
    call, plain, odd = VALID[which]
    np.testing.assert_allclose(call(odd), call(plain), atol=1e-6)


def test_metric_cannot_change_the_data():
    def careless(a, b):
        distance = float(np.abs(a - b).sum())
        a[...] = 0
        return distance

    before = X.copy()
    Constraints([(0, 3)]).expand(X, 2, metric=careless)
    np.testing.assert_array_equal(X, before)


def test_all_pairs_of_many_clusters():
    with limited():
        family = FocalSets.pairs(500)
    assert len(family) == 1 + 500 + 124_750 + 1
    assert family.cardinality.tolist() == sorted(family.cardinality.tolist())


SMALL = {
    "bootstraps": (
        lambda v: BootClus(3, n_bootstraps=v, mixture="EII", random_state=0),
        np.int8(3),
    ),
    "starts": (lambda v: MECM(3, n_init=v, random_state=0), np.uint8(200)),
    "iterations": (lambda v: EKNNClassifier(3, max_iter=v), np.int8(127)),
    "a fraction": (
        lambda v: CCM(3, gamma=v, n_init=1, random_state=0),
        np.float32(1.1),
    ),
}


@pytest.mark.parametrize("which", SMALL)
def test_small_number_types(which):
    make, number = SMALL[which]
    small, plain = (make(value).fit(X, CODES) for value in (number, number.item()))
    one, other = (m.predict_mass(X).masses for m in (small, plain))
    np.testing.assert_array_equal(one, other)
    assert type(number) in map(type, small.get_params().values())


def test_booleans_are_not_clusters():
    for wrong in (True, False, np.True_, np.False_):
        with pytest.raises(InvalidInputError, match=r"\bsets\b"):
            PARTITION.belief(wrong)
        with pytest.raises(InvalidInputError, match=r"\bsecond\b"):
            profile(PARTITION, X).discriminating_features(2, wrong)
    assert len(CredalPartition.from_hard(CODES == 0, noise=False).outliers) == 16
    assert (
        CredalPartition.from_hard(["None", "some", "None"], noise=None).n_clusters == 2
    )


TABLE = np.arange(9).reshape(3, 3)
NAMES = {
    "cluster_names": lambda v: FocalSets.simple(3).names(v),
    "names": lambda v: embed_partitions([CODES, CODES, CODES[::-1]], v),
    "feature_names": lambda v: explain_object(PARTITION, X, 0, feature_names=v),
}


@pytest.mark.parametrize("which", NAMES)
def test_tables_are_not_names(which):
    for wrong in (TABLE, TABLE.astype(str), TABLE.tolist()):
        with pytest.raises(InvalidInputError, match=rf"\b{which}\b"):
            NAMES[which](wrong)
    NAMES[which](["a", 2, ("b", 3)])


NUMBERS = {
    "sample_weight": lambda v: ECM(3, n_init=1, random_state=0).fit(X, sample_weight=v),
    "weights": lambda v: nearest_pairs(PARTITION, 1, v),
    "rate": lambda v: PARTITION.discount(v),
    "alpha": lambda v: MassFunctions.from_dirichlet(v),
    "counts": lambda v: MassFunctions.from_counts(v),
    "regularization": lambda v: EvidentialRBFClassifier(
        3, regularization=v, n_init=1, random_state=0
    ).fit(X, CODES),
}


@pytest.mark.parametrize("which", NUMBERS)
def test_text_and_booleans_are_not_numbers(which):
    half = np.full(3 if which == "regularization" else 24, 0.5)
    for wrong in (
        True,
        half.astype(str),
        half.astype(str).astype(object),
        half.astype("S"),
        half.astype(complex),
    ):
        with pytest.raises(InvalidInputError, match=rf"\b{which}\b"):
            NUMBERS[which](wrong)


def test_unused_seeds_are_validated():
    for wrong in ("nonsense", np.nan, True, [3], -1):
        with pytest.raises(InvalidInputError, match=r"\brandom_state\b"):
            credal_rand_index(PARTITION, PARTITION, random_state=wrong)


def test_more_leaves_than_objects():
    few, many = (CautiousTree(k).fit(X, PARTITION) for k in (24, 2**31 - 1))
    assert few.export_text() == many.export_text()
    assert len(many.mistakes_by_leaves_) == 24


def test_trees_deeper_than_the_recursion_limit():
    node = Node(np.arange(2), cost=2.0)
    for k in range(2, 3000):
        children = node, Node(np.arange(1), cost=1.0)
        node = Node(np.arange(k), column=0, children=children, cost=float(k))
    add_costs(node, 20)
    prune(node, 20)
    assert sum(not one.children for one in [node, *_below(node)]) <= 20


def _below(node):
    while node.children:
        yield from node.children
        node = node.children[0]


def test_number_of_threads_is_limited():
    assert 1 < n_threads(2**31 - 1) <= 256


LEARNERS = {
    "DMLEig": DMLEig(random_state=0),
    "EvidenceFromClassifier": EvidenceFromClassifier(),
}


@pytest.mark.parametrize("which", LEARNERS)
def test_underflow(which):
    """Underflow is not an error even with ``np.errstate(all="raise")``."""
    model = LEARNERS[which]
    far = 40 * X
    with np.errstate(all="raise"):
        model.fit(far, CODES)
        (model.transform if hasattr(model, "transform") else model.predict_mass)(far)


@pytest.mark.parametrize("method", [ECM, CCM, EGMM, WMVEC, CatECM])
def test_equal_prototypes_raise(method):
    if method is CatECM:
        data = categories(X)
    else:
        data = X
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        method(3, init=data[[0, 1, 0]]).fit(data)


def test_invalid_numbers_of_components():
    for wrong in (
        np.array(None, dtype=object),
        torch.tensor(3),
        np.ma.masked,
        {},
        iter([2]),
    ):
        with pytest.raises(InvalidInputError, match=r"\bn_components\b"):
            ParsimoniousGaussianMixture(wrong).fit(X)


def test_numbers_as_text_are_explained_as_numbers():
    model = ECM(3, n_init=1, random_state=0).fit(X)
    for text in (X.astype(str), pd.DataFrame(X.astype(str))):
        one, other = (explain_object(model, given, 3) for given in (X, text))
        assert [e.name for e in one.exemplars] == [e.name for e in other.exemplars]
        np.testing.assert_allclose(one.typical, other.typical)


def test_sets_are_not_components():
    partition = ECM(3, n_init=1, random_state=0).fit(X).credal_partition_
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        ParsimoniousGaussianMixture(init=partition).fit(X)
    assert (
        ParsimoniousGaussianMixture(model="EII", init=partition.pignistic())
        .fit(X)
        .n_components_
        == 3
    )


def test_names_from_iterators():
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0], "c": list("xyx")})
    assert list(choose_attributes(table, columns=iter(["b"])).values.columns) == ["b"]
    assert list(choose_attributes(table, exclude=iter(["b"])).values.columns) == ["a"]
    assert list(choose_attributes(table, categories=iter(["c"])).values.columns) == [
        "a",
        "b",
        "c",
    ]
    for wrong in (None, 3, 0.5, object()):
        with pytest.raises(InvalidInputError, match=r"\bcategories\b"):
            choose_attributes(table, categories=wrong)


def test_tensors_are_not_categories():
    cells = [[torch.tensor(float(v)) for v in row] for row in X]
    for call in (
        lambda: CautiousTree(3).fit(cells, PARTITION),
        lambda: profile(PARTITION, cells),
    ):
        with pytest.raises(TypeError, match="cannot be categories"):
            call()
