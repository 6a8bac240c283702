"""What is given beside the objects: starts, numbers, lists, tensors. Refused by name, or read as they are meant."""

import itertools

import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from sklearn.cluster import KMeans

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.belief import Opinions
from dempster.classify import ContextualDiscounting, EKNNClassifier
from dempster.cluster import CCM, CECM, ECM, EGMM, MECM, NNEVCLUS, BootClus, CatECM, ECMdd, EKNNClus
from dempster.constraints import Constraints
from dempster.explain import RetentionCurve, explain_object, profile, set_scores, stability
from dempster.metric import FDA
from dempster.mixture import GaussianParameters, ParsimoniousGaussianMixture
from dempster.model_selection import n_clusters_curve
from dempster.partition import RelationalPartition, combine_partitions
from tests.limits import limited

pytestmark = pytest.mark.filterwarnings("ignore")

N = 18
CODES = np.arange(N) % 3
X = 6.0 * np.eye(3)[CODES] + np.random.default_rng(0).normal(size=(N, 3))
D = np.linalg.norm(X[:, None] - X, axis=2)
CENTERS = X[:3]
PARTITION = CredalPartition.from_hard(CODES)
SPAN = np.timedelta64(2, "s")


def masked(values):
    values = np.asarray(values)
    return np.ma.masked_array(values, np.arange(values.size).reshape(values.shape) == 1)


def mixture(init):
    return ParsimoniousGaussianMixture(3, model="EII", init=init).fit(X)


def gaussians(**changes):
    given = {"proportions": [0.5, 0.5], "means": np.zeros((2, 3)), "covariances": [np.eye(3)] * 2, "model": "EII"}
    return GaussianParameters(**(given | changes))


def network(**given):
    return NNEVCLUS(3, network=3, max_iter=1, random_state=0).fit(X, **given)


REFUSED = {
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
    "confidence in half precision": lambda: BootClus(3, confidence=np.float16(0.9)).fit(X),
    "max_iter without end": lambda: BootClus(3, max_iter=2**31 - 1).fit(X),
    "n_clusters, a span of time": lambda: combine_partitions([CODES, CODES], n_clusters=SPAN),
    "n_clusters, endless": lambda: n_clusters_curve(ECM(), X, itertools.count(2)),
    "n_clusters, spans of time": lambda: n_clusters_curve(ECM(), X, [SPAN]),
    "max_size, a span of time": lambda: CredalPartition.from_soft([[0.5, 0.5]], max_size=SPAN),
    "n_exemplars, true": lambda: explain_object(PARTITION, X, 0, n_exemplars=True),
    "i, a span of time": lambda: explain_object(PARTITION, X, SPAN),
    "sets, a span of time": lambda: PARTITION.belief((SPAN,)),
    "sets, masked": lambda: PARTITION.belief(masked(np.eye(3, dtype=bool))),
    "frame, endless": lambda: MassFunctions([[1.0]], FocalSets.from_sets(1, [(0,)]), frame=itertools.count()),
    "cluster_names, endless": lambda: FocalSets.full(2).names(itertools.count()),
    "must_link, endless": lambda: Constraints(zip(itertools.count(), itertools.count(1), strict=True)),
    "rows, masked": lambda: Constraints([(0, 1)], n_objects=3)[masked([0, 1, 2])],
    "matching": lambda: set_scores(PARTITION, CODES, matching=pd.NA),
    "statistic": lambda: profile(PARTITION, X).to_frame(pd.NA),
    "second": lambda: profile(PARTITION, X).discriminating_features(0, pd.NA),
    "clustered": lambda: profile(PARTITION, X, clustered=3),
    "attributes": lambda: explain_object(PARTITION, D, 0, metric="precomputed", attributes=X + 0j),
    "X, dissimilarities below zero": lambda: explain_object(PARTITION, -D, 0, metric="precomputed"),
    "X, complex": lambda: explain_object(PARTITION, X + 0j, 0),
    "X, a function of an argument": lambda: ECM(3).fit(lambda rows: X),
    "X, a Dask column": lambda: ECM(3).fit(dd.from_pandas(pd.Series(X[:, 0]), npartitions=2)),
    "X, a Dask bag": lambda: ECM(3).fit(dask.bag.from_sequence([1, 2])),
    "X, a table of Arrow, by a method that needs all objects": lambda: CECM(3).fit(pa.table({"a": X[:, 0]})),
    "X, a Dask column elsewhere": lambda: FDA().fit(da.zeros(9), CODES[:9]),
    "X, a Dask table of text": lambda: EKNNClassifier(1).fit(
        dd.from_pandas(pd.DataFrame({"a": list("uvw")}), npartitions=1), CODES[:3]
    ),
    "X, one axis for Gower": lambda: ECMdd(3, metric="gower").fit(X[:, 0]),
    "X, no rows for Gower": lambda: ECMdd(3, metric="gower", n_init=1).fit(X).predict(pd.DataFrame(X).iloc[:0]),
    "column names twice among categories": lambda: CatECM(2).fit(
        pd.DataFrame(X.round().astype(int), columns=list("aab"))
    ),
    "metric, a table": lambda: NNEVCLUS(3, metric=pd.DataFrame(X)).fit(X),
    "estimator, a class to refit": lambda: stability(KMeans, X),
    "estimator, a class for a curve": lambda: n_clusters_curve(ECM, X),
    "estimator, a class to explain": lambda: explain_object(ECM, X, 0),
    "y, complex": lambda: ContextualDiscounting().fit(PARTITION, CODES.astype(complex)),
    "X, a list of masked rows": lambda: ECM(3).fit(list(masked(X))),
    "X, a list with a date": lambda: ECM(3).fit([*X.tolist(), [1.0, np.datetime64("2020-01-01"), 2.0]]),
    "X, a tensor without numbers": lambda: ECM(3).fit(torch.empty(X.shape, device="meta")),
    "masses, a tensor without numbers": lambda: MassFunctions(torch.empty((3, 4), device="meta"), FocalSets.full(2)),
    "share, falling": lambda: RetentionCurve([1.0, 0.5], [0.8, 0.9], "ari"),
    "measure": lambda: RetentionCurve([0.5, 1.0], [0.8, 0.9], "luck"),
    "belief, above one": lambda: Opinions([[0.9, 0.9]], [0.4], [0.5, 0.5]),
    "base_rate, above one": lambda: Opinions([[0.2, 0.4]], [0.4], [0.9, 0.9]),
}


@pytest.mark.parametrize("which", REFUSED)
def test_refused_by_name(which):
    name = which.split(",")[0].split(" ")[0]
    with limited(), pytest.raises((ValueError, TypeError, IndexError), match=rf"\b{name}\b"):
        REFUSED[which]()


SAME = {
    "a matrix": (lambda v: explain_object(PARTITION, v, 0).contributions, X, np.asmatrix(X)),
    "nothing masked": (lambda v: explain_object(PARTITION, v, 0).contributions, X, np.ma.masked_array(X)),
    "half the digits": (
        lambda v: ECM(3, random_state=0).fit(v).credal_partition_.masses,
        torch.tensor(X).bfloat16().float().numpy(), torch.tensor(X).bfloat16(),
    ),
    "unsigned": (lambda v: next(PARTITION.relational().blocks(v))[1], 7, np.uint64(7)),
    "masses of torch": (
        lambda v: RelationalPartition(v).totals(), PARTITION,
        CredalPartition(torch.tensor(PARTITION.masses), PARTITION.focal_sets),
    ),
    "a view of memory": (
        lambda v: stability(ECM(3, random_state=0), v, 2, random_state=0).rand, X, memoryview(X),
    ),
    "by keyword": (lambda v: ContextualDiscounting().fit(PARTITION, CODES).transform(**v).masses,
                   {"masses": PARTITION}, {"masses": MassFunctions(PARTITION)}),
}  # fmt: skip


@pytest.mark.parametrize("which", SAME)
def test_read_as_it_is_meant(which):
    call, plain, odd = SAME[which]
    np.testing.assert_allclose(call(odd), call(plain), atol=1e-6)


def test_a_metric_that_changes_what_it_is_given_changes_a_copy():
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
