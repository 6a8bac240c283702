"""Explanations of objects compared with the formulas of the methods."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.classify import EKNNClassifier
from dempster.cluster import (
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    SECM,
    BootClus,
    CatECM,
    ConformalClustering,
    ECMdd,
    EKNNClus,
    WECMdd,
)
from dempster.datasets import load_iris
from dempster.explain import ObjectExplanation, doubt_scores, explain_object
from dempster.explain._evidence import evidence_along_path
from dempster.optimize.blocks import block_map
from tests.cluster.contract import IMAGE, POINTS, SUBJECTS, categories

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ["height", "weight"]


def most_doubtful(model):
    """Return the position of the object with the largest doubt that is not an outlier."""
    partition = getattr(model, "credal_partition_", None)
    if partition is None:
        doubt = np.zeros(np.size(model.labels_))
    else:
        doubt = doubt_scores(partition)
    return int(np.where(doubt > 1, -1, doubt).argmax())


def center(values):
    return np.asarray(values) - np.mean(values)


def actual_and_expected(explanation, totals):
    """Return the centered evidence for the candidates, and that from the totals of all clusters."""
    return explanation.explained + explanation.base, center(
        [totals[k] for k in explanation.clusters]
    )


@pytest.fixture(scope="module")
def ecm():
    return ECM(3, random_state=0).fit(POINTS)


# ---- every clusterer -----------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_contributions_add_up(subject):
    model = subject.fitted()
    n_attributes = model.n_features_in_
    for i in (most_doubtful(model), 3):
        why = explain_object(model, subject.data, i, changes=False)
        assert why.by == "attributes"
        assert why.contributions.shape == (n_attributes, len(why.clusters))
        assert len(why.clusters) >= 2
        assert np.isfinite(why.contributions).all()
        np.testing.assert_allclose(
            why.contributions.sum(axis=0), why.explained, atol=1e-9
        )
        np.testing.assert_allclose(why.contributions.sum(axis=1), 0, atol=1e-9)
        np.testing.assert_allclose(
            why.explained + why.base, center(why.evidence), atol=1e-9
        )
        assert len(why.to_text()) > 40
        assert len(why.to_frame()) == n_attributes


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_largest_evidence_agrees_with_the_label(subject):
    model = subject.fitted()
    labels = np.ravel(model.labels_)
    some = np.arange(0, labels.size, 7)
    agree = []
    for i in some:
        why = explain_object(
            model,
            subject.data,
            int(i),
            clusters=range(model.n_clusters_),
            changes=False,
        )
        agree.append(why.clusters[int(np.argmax(why.evidence))] == labels[i])
    assert np.mean(agree) >= 0.85


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if hasattr(s.estimator, "predict_mass")], ids=str
)
def test_changes_make_the_object_certain(subject):
    model = subject.fitted()
    i = most_doubtful(model)
    why = explain_object(model, subject.data, i)
    assert why.movable
    assert why.changes
    assert [change.size for change in why.changes] == sorted(
        change.size for change in why.changes
    )
    if str(subject) == "SECM":
        pytest.skip("predict_mass takes images, not single pixels")
    for change in why.changes:
        row = subject.data[i].astype(float).copy()
        for name, before, after in zip(
            change.attributes, change.before, change.after, strict=True
        ):
            d = why.attributes.index(name)
            assert row[d] == pytest.approx(before)
            row[d] = after
        masses = model.predict_mass(row[None].astype(subject.data.dtype))
        assert masses.lower(change.cluster).tolist() == [0]
        assert change.cluster != model.credal_partition_.labels[i] or not len(
            why.masses.lower(change.cluster)
        )


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s.takes_tables], ids=str)
def test_tables_with_names_and_new_objects(subject):
    table = subject.table()
    model = subject.make().fit(table)
    why = explain_object(model, table, "object 7", changes=False)
    assert why.name == "object 7"
    assert why.attributes == tuple(table.columns)
    plain = explain_object(subject.fitted(), subject.data, 7, changes=False)
    np.testing.assert_allclose(why.contributions, plain.contributions)
    again = explain_object(model, table, dict(table.iloc[7]), changes=False)
    assert again.name is None
    # it is the same object
    np.testing.assert_allclose(again.contributions, plain.contributions)
    np.testing.assert_allclose(again.masses.masses, why.masses.masses)


def takes_dissimilarities(subject):
    return (
        "metric" in subject.parameters
        and get_tags(subject.make(metric="precomputed")).input_tags.pairwise
    )


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if takes_dissimilarities(s)], ids=str
)
def test_dissimilarities_are_explained_by_objects(subject):
    D = cdist(subject.data, subject.data)
    model = subject.make(metric="precomputed").fit(D)
    why = explain_object(model, D, 7)
    assert (why.by, why.movable, why.changes, why.values) == (
        "objects",
        False,
        (),
        None,
    )
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.explained, atol=1e-9)
    assert len(why.contributions) == len(why.attributes) > 0
    assert len(why.exemplars) == 2
    beside = explain_object(model, D, 7, attributes=subject.data, feature_names=NAMES)
    assert beside.by == "attributes"
    assert beside.attributes == tuple(NAMES)
    np.testing.assert_allclose(
        beside.contributions.sum(axis=0), beside.explained, atol=1e-9
    )
    if not hasattr(model, "predict_mass"):
        with pytest.raises(InvalidInputError, match="^i must be an object of X"):
            explain_object(model, D, D[7] + 0.01)
        return
    new = explain_object(model, D, D[7] + 0.01)
    assert new.name is None
    assert new.by == "objects"


# ---- what the methods compute, by loops ----------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("method", [ECM, CECM])
def test_squared_distances_to_centers(method, metric):
    X = POINTS @ np.array([[1, 0.6], [0, 1]])
    model = method(3, metric=metric, random_state=0).fit(X)
    why = explain_object(model, X, 11, clusters=[0, 1, 2], changes=False)
    for k, cluster in enumerate(why.clusters):
        gap = X[11] - model.cluster_centers_[cluster]
        if metric == "euclidean":
            S = np.eye(2)
        else:
            S = model.metric_matrices_[cluster]
        for d in range(2):  # a term of two attributes goes to both in equal parts
            share = sum(gap[d] * gap[e] * (S[d, e] + S[e, d]) / 2 for e in range(2))
            assert why.parts[d, k] == pytest.approx(-share)
        assert why.evidence[k] == pytest.approx(-gap @ S @ gap)
    np.testing.assert_allclose(why.base, 0)


def test_recm_prototypes_are_weighted_means():
    model = RECM(3, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    centers = model._model.means.weights @ POINTS
    np.testing.assert_allclose(
        why.parts.T, -((POINTS[11] - centers[list(why.clusters)]) ** 2)
    )
    np.testing.assert_allclose(why.base, 0, atol=1e-9)


def test_recm_shifted_dissimilarities():
    D = cdist(POINTS, POINTS, "cityblock") ** 2
    model = RECM(
        3, metric="precomputed", correction="shift", square=False, random_state=0
    ).fit(D)
    why = explain_object(model, D, 11, clusters=[0, 1, 2])
    P = model._model.means.weights
    shifted = D + model._model.means.shift * (1 - np.eye(60))
    totals = [-(P[k] @ shifted[11] - P[k] @ shifted @ P[k] / 2) for k in range(3)]
    np.testing.assert_allclose(*actual_and_expected(why, totals), rtol=1e-6)


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_egmm_log_densities_of_t_distributions(covariance):
    model = EGMM(3, covariance=covariance, distribution="t", random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    nu = model.degrees_of_freedom_
    for k, cluster in enumerate(why.clusters):
        matrix = model.covariance_
        if covariance == "own":
            matrix = matrix[cluster]
        density = multivariate_t(model.means_[cluster], matrix, nu).logpdf(POINTS[11])
        weight = model.weights_[model.focal_sets_.singleton_index[cluster]]
        assert why.evidence[k] == pytest.approx(density + np.log(weight))
        gap = POINTS[11] - model.means_[cluster]
        parts = gap * np.linalg.solve(matrix, gap)
        total = (nu + len(gap)) / 2 * np.log1p(parts.sum() / nu)
        np.testing.assert_allclose(why.parts[:, k], -parts / parts.sum() * total)


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_egmm_log_densities(covariance):
    model = EGMM(3, covariance=covariance, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    for k, cluster in enumerate(why.clusters):
        if covariance == "tied":
            matrix = model.covariance_
        else:
            matrix = model.covariance_[cluster]
        density = multivariate_normal(model.means_[cluster], matrix).logpdf(POINTS[11])
        assert why.evidence[k] == pytest.approx(
            density + np.log(model.weights_[cluster])
        )
        gap = POINTS[11] - model.means_[cluster]
        np.testing.assert_allclose(
            why.parts[:, k], -gap * np.linalg.solve(matrix, gap) / 2
        )


def test_bootclus_mean_log_densities():
    model = BootClus(3, n_bootstraps=5, mixture="VVV", random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    fits = model.bootstraps_
    for k, cluster in enumerate(why.clusters):
        logs = [
            np.log(fits.proportions[b, cluster])
            + multivariate_normal(
                fits.means[b, cluster], fits.covariances[b, cluster]
            ).logpdf(POINTS[11])
            for b in range(5)
        ]
        assert why.evidence[k] == pytest.approx(np.mean(logs))


@pytest.mark.parametrize("method", [MECM, ECMdd])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev"])
def test_dissimilarities_to_medoids(method, metric):
    model = method(3, metric=metric, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    D = cdist(POINTS[11:12], POINTS[model.medoid_indices_], metric)[0]
    ratio = -why.evidence / D[list(why.clusters)] ** getattr(model, "power", 1)
    np.testing.assert_allclose(ratio, ratio[0])
    for k, cluster in enumerate(why.clusters):
        gap = np.abs(POINTS[11] - POINTS[model.medoid_indices_[cluster]])
        terms = {
            "euclidean": gap**2,
            "cityblock": gap,
            "chebyshev": _losses_of_maximum(gap),
        }[metric]
        np.testing.assert_allclose(
            why.parts[:, k], why.evidence[k] * terms / terms.sum(), atol=1e-12
        )


def _losses_of_maximum(gap):
    """Return the decrease of the maximum if one of the two differences is zero."""
    return np.array([gap.max() - gap[1], gap.max() - gap[0]])


def test_evclus_similarity_to_members():
    model = EVCLUS(3, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    D = cdist(POINTS, POINTS)
    n = len(POINTS)
    nearest = np.sort(D + np.diag(np.full(n, np.inf)), axis=1)
    scales = nearest[:, round(np.sqrt(n)) - 1]
    rate = -np.log(0.05) / 1.5**2
    totals = []
    members = model.labels_.copy()
    contrast = model._model.contrast
    for k in range(3):
        others = [j for j in range(n) if members[j] == k and j != 11]
        alike = [
            np.exp(-rate * D[11, j] ** 2 / (scales[11] * scales[j])) for j in others
        ]
        relative = np.mean(alike) / np.sqrt(contrast.within[k])
        totals.append(contrast.exponent * np.log(relative))
        parts = np.zeros(2)
        for j, strength in zip(others, alike, strict=True):
            energy = rate * (POINTS[11] - POINTS[j]) ** 2 / (scales[11] * scales[j])
            parts -= contrast.exponent * strength / sum(alike) * energy
        np.testing.assert_allclose(
            why.parts[:, why.clusters.index(k)], parts, rtol=1e-6
        )
    np.testing.assert_allclose(
        why.evidence, np.array(totals)[list(why.clusters)], rtol=1e-6
    )


def test_evclus_misfit_of_conflicts():
    model = EVCLUS(3, focal_sets="full", random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    D = cdist(POINTS, POINTS)[11]
    gamma = -np.log(0.05) / model.d0_**2
    contour = model.credal_partition_.contour
    totals = []
    others = [j for j in range(len(POINTS)) if j != 11]
    for k in range(3):
        totals.append(
            -np.mean(
                [
                    ((1 - np.exp(-gamma * D[j] ** 2)) - (1 - contour[j, k])) ** 2
                    for j in others
                ]
            )
        )
    np.testing.assert_allclose(*actual_and_expected(why, totals), atol=1e-6)


def test_eknnclus_neighbors():
    model = EKNNClus(random_state=0).fit(POINTS)
    i = most_doubtful(model)
    why = explain_object(model, POINTS, i, changes=False)
    D = cdist(POINTS, POINTS)[i]
    nearest = [j for j in np.argsort(D) if j != i][: model.n_neighbors_]
    weights = {j: -np.log(1 - np.exp(-((D[j] / model.scale_) ** 2))) for j in nearest}
    for k, cluster in enumerate(why.clusters):
        mine = [weights[j] for j in nearest if model.labels_[j] == cluster]
        if mine:
            assert why.evidence[k] == pytest.approx(np.log(sum(mine)), rel=1e-6)


def test_nnevclus_integrated_gradients():
    model = NNEVCLUS(3, network=5, max_iter=30, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, changes=False)
    places = [
        POINTS[[j for j in model.credal_partition_.lower(k) if j != 11]].mean(axis=0)
        for k in why.clusters
    ]
    middle = np.mean(places, axis=0)
    plausible = model.predict_mass(np.array([middle, POINTS[11]])).contour[
        :, list(why.clusters)
    ]
    np.testing.assert_allclose(
        why.parts.sum(axis=0), plausible[1] - plausible[0], atol=1e-6
    )
    np.testing.assert_allclose(why.evidence, plausible[1], atol=1e-6)
    # The integral of the gradient, approximated by many small differences.
    steps = (np.arange(2000) + 0.5) / 2000
    h = 1e-5
    move = POINTS[11] - middle
    for d in range(2):
        up, down = (
            middle + steps[:, None] * move + sign * h * np.eye(2)[d] for sign in (1, -1)
        )
        slope = (model.predict_mass(up).contour - model.predict_mass(down).contour)[
            :, list(why.clusters)
        ] / (2 * h)
        np.testing.assert_allclose(
            why.parts[d], slope.mean(axis=0) * move[d], atol=5e-3
        )


def test_object_at_the_midpoint_of_two_clusters():
    point = np.array([1.0, 2.0])
    evidence = evidence_along_path(lambda rows: rows / 4, point, point)
    np.testing.assert_array_equal(evidence.parts, np.zeros((2, 2)))
    np.testing.assert_array_equal(evidence.total, point / 4)


def test_catecm_differing_categories():
    X = categories(POINTS)
    model = CatECM(3, random_state=0).fit(X)
    why = explain_object(model, X, 11, clusters=[0, 1, 2], changes=False)
    for k, cluster in enumerate(why.clusters):
        center = model.cluster_centers_[cluster]
        assert why.parts[:, k].tolist() == [
            -float(a != b) for a, b in zip(X[11], center, strict=True)
        ]


def test_wecmdd_weighted_candidates():
    model = WECMdd(3, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11, clusters=[0, 1, 2], changes=False)
    d = cdist(POINTS[11:12], POINTS[model.candidate_indices_])[0] ** model.power
    for k, cluster in enumerate(why.clusters):
        shares = (60 / 3) ** (model.psi - 1) * model.prototype_weights_[
            cluster
        ] ** model.psi
        assert why.evidence[k] == pytest.approx(-shares @ d)
        parts = np.zeros(2)
        for j, candidate in enumerate(model.candidate_indices_):
            squares = (POINTS[11] - POINTS[candidate]) ** 2
            parts -= shares[j] * d[j] * squares / (squares.sum() or 1)
        np.testing.assert_allclose(why.parts[:, k], parts)
    np.testing.assert_allclose(why.base, 0, atol=1e-9)


def test_secm_pixel():
    model = SECM(3, random_state=0).fit(IMAGE)
    by_place, by_number = (
        explain_object(model, IMAGE, i) for i in ((2, 3), 2 * 10 + 3)
    )
    np.testing.assert_array_equal(by_place.parts, by_number.parts)
    # the spread is the same for all clusters
    np.testing.assert_allclose(by_place.base, 0, atol=1e-9)
    new = explain_object(model, IMAGE, [2.0])
    assert new.masses.labels[0] == model.predict(np.full((3, 3), 2.0))[1, 1]
    with pytest.raises(ValueError, match="a pixel of an image of shape \\(8, 10\\)"):
        explain_object(model, IMAGE, (8, 0))


# ---- partitions, tables, other data --------------------------------------------------------------


def test_partition_from_file(ecm, tmp_path):
    from dempster.io import read_partition, write_partition

    table = pd.DataFrame(POINTS, columns=NAMES, index=[f"p{i}" for i in range(60)])
    partition = ECM(3, random_state=0).fit(table).credal_partition_
    write_partition(partition, tmp_path / "partition.csv")
    read = read_partition(tmp_path / "partition.csv")
    why = explain_object(read, table[::-1], "p11", clusters=[0, 1, 2])
    spread = POINTS.std(axis=0)
    for k, cluster in enumerate(why.clusters):
        members = [j for j in partition.lower(cluster) if j != 11]
        mean = POINTS[members].mean(axis=0)
        np.testing.assert_allclose(
            why.parts[:, k], -(((POINTS[11] - mean) / spread) ** 2)
        )
        np.testing.assert_allclose(why.typical[k], mean)
    assert not why.movable
    nearest = why.exemplars[0]
    apart = np.linalg.norm((POINTS - POINTS[11]) / spread, axis=1)
    members = [j for j in partition.lower(nearest.cluster) if j != 11]
    assert nearest.name == f"p{members[int(np.argmin(apart[members]))]}"


def test_labels_and_other_libraries():
    model = KMeans(3, n_init=1, random_state=0).fit(POINTS)
    why = explain_object(model, POINTS, 11)
    plain = explain_object(model.labels_, POINTS, 11)
    np.testing.assert_array_equal(why.contributions, plain.contributions)
    assert why.masses.labels[0] == why.clusters[0]


def test_classifier():
    y = np.array(["a", "b", "c"])[ECM(3, random_state=0).fit_predict(POINTS)]
    model = EKNNClassifier(n_neighbors=5).fit(POINTS, y)
    why = explain_object(model, POINTS, 11)
    assert set(why.clusters) <= {"a", "b", "c"}
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.explained, atol=1e-9)


def test_third_party_estimator():
    class ThirdParty(BaseEstimator):
        def fit(self, X):
            self.inner_ = ECM(3, random_state=0).fit(X)
            self.credal_partition_ = self.inner_.credal_partition_
            return self

        def predict_mass(self, X):
            return self.inner_.predict_mass(X)

    why = explain_object(ThirdParty().fit(POINTS), POINTS, 11)
    assert why.quantity == "plausibility"
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.explained, atol=1e-9)


def test_polars_lists_and_single_precision(ecm):
    expected = explain_object(ecm, POINTS, 11)
    frame = pl.DataFrame(POINTS, schema=NAMES)
    for X in (POINTS.tolist(), frame, POINTS.astype(np.float32)):
        model = ECM(3, random_state=0).fit(X)
        why = explain_object(model, X, 11)
        np.testing.assert_allclose(why.contributions, expected.contributions, rtol=1e-3)
        assert [change.cluster for change in why.changes] == [
            change.cluster for change in expected.changes
        ]
    assert explain_object(
        ECM(3, random_state=0).fit(frame), frame, 11
    ).attributes == tuple(NAMES)


def test_mixed_tables():
    table = pd.DataFrame(POINTS, columns=NAMES).assign(
        color=np.where(POINTS[:, 0] > 3, "red", "blue"), tall=POINTS[:, 1] > 3
    )
    table.loc[5, "weight"] = np.nan
    model = EVCLUS(3, metric="gower", random_state=0).fit(
        table[["color", "height", "tall", "weight"]]
    )
    X = table[["color", "height", "tall", "weight"]]
    why = explain_object(model, X, 5)
    assert why.attributes == ("color", "height", "tall", "weight")
    assert why.contributions[3].tolist() == [0.0] * len(why.clusters)
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.explained, atol=1e-9)
    for change in why.changes:
        row = X.iloc[[5]].copy()
        for name, after in zip(change.attributes, change.after, strict=True):
            row[name] = [after]
        assert model.predict_mass(row).lower(change.cluster).tolist() == [0]


def test_columns_of_any_type(ecm):
    numbers = pd.array([1, 2, None, 4] * 15, dtype="Int64")
    kinds = pd.Categorical(["a", "b"] * 30)
    table = pd.DataFrame({"number": numbers, "x": POINTS[:, 0], "kind": kinds})
    why = explain_object(ecm.credal_partition_, table, 2)
    assert why.contributions[0].tolist() == [0.0, 0.0]
    for k, cluster in enumerate(why.clusters):
        members = [j for j in ecm.credal_partition_.lower(cluster) if j != 2]
        assert why.parts[2, k] == pytest.approx(
            -np.mean([table["kind"][j] != "a" for j in members])
        )


def test_landmarks_and_sparse_dissimilarities():
    D = cdist(POINTS, POINTS)
    model = EVCLUS(
        3, metric="precomputed", sampling="landmarks", n_landmarks=20, random_state=0
    ).fit(D)
    why = explain_object(model, D, D[7, model.landmark_indices_] + 0.01)
    assert set(map(int, why.attributes)) <= set(model.landmark_indices_)
    assert {one.position for one in why.exemplars} <= set(model.landmark_indices_)
    kept = np.triu(np.random.default_rng(0).random(D.shape) < 0.5, 1)
    stored = sparse.csr_matrix(np.where(kept | kept.T, D, 0))
    for method in (
        EVCLUS(3, metric="precomputed", random_state=0),
        EKNNClus(metric="precomputed", random_state=0),
    ):
        why = explain_object(method.fit(stored), stored, 7)
        assert why.by == "objects"
        assert set(map(int, why.attributes)) <= set(stored[7].indices)
        np.testing.assert_allclose(
            why.contributions.sum(axis=0), why.explained, atol=1e-9
        )
    partition = method.credal_partition_
    known = explain_object(partition, stored, 7, metric="precomputed")
    for k, cluster in enumerate(known.clusters):
        members = [j for j in partition.lower(cluster) if j in stored[7].indices]
        assert known.evidence[k] == pytest.approx(-D[7, members].mean())


@pytest.mark.long
def test_images_and_torch_network():
    torch = pytest.importorskip("torch")
    images = np.random.default_rng(0).normal(size=(45, 1, 4, 4)).astype(np.float32)
    images[:15] += 2
    images[15:30, :, :2] -= 2
    layers = (
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.LazyLinear(5),
    )
    model = NNEVCLUS(
        3, network=torch.nn.Sequential(*layers), max_iter=5, random_state=0
    ).fit(images)
    why = explain_object(model, images, 3)
    assert why.contributions.shape == (16, 2)
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.explained, atol=1e-9)


def test_objects_outside_the_fit(ecm):
    others = POINTS[::-1] + 0.05
    why = explain_object(ecm, others, 4)
    np.testing.assert_allclose(why.masses.masses, ecm.predict_mass(others[4:5]).masses)


@pytest.mark.parametrize(
    "method",
    [EVCLUS(3, random_state=0), EKNNClus(random_state=0), MECM(3, random_state=0)],
)
def test_subset_of_the_fit_by_name(method):
    table = pd.DataFrame(POINTS, index=[f"o{i}" for i in range(len(POINTS))])
    table.columns = table.columns.astype(str)
    method.fit(table)
    whole = explain_object(method, table, "o4", changes=False)
    for part in (table[:9], table[4:5], table[::-1]):
        why = explain_object(method, part, "o4", clusters=whole.clusters, changes=False)
        np.testing.assert_allclose(why.evidence, whole.evidence)
        assert isinstance(method, MECM) or "o4 of the fit" not in why.attributes


@pytest.mark.parametrize("row", [4, 11])
def test_object_changed_after_the_fit(ecm, row):
    changed = POINTS.copy()
    changed[row] = POINTS[-1] + 0.1
    why = explain_object(ecm, changed, row)
    np.testing.assert_allclose(
        why.masses.masses, ecm.predict_mass(changed[[row]]).masses
    )
    D = cdist(POINTS, POINTS)
    relational = RECM(3, metric="precomputed", random_state=0).fit(D)
    D[row] = D[-1]
    why = explain_object(relational, D, row)
    np.testing.assert_allclose(
        why.masses.masses, relational.predict_mass(D[[row]]).masses
    )


def test_missing_attributes_contribute_nothing(ecm):
    holes = POINTS.copy()
    holes[11, 0] = np.nan
    why = explain_object(ecm.credal_partition_, holes, 11)
    assert why.contributions[0].tolist() == [0.0] * len(why.clusters)
    assert np.isfinite(why.contributions).all()
    assert "unknown" in why.plot().ax_.get_yticklabels()[-2].get_text()


# ---- text ----------------------------------------------------------------------------------------


def test_text_for_ambiguous_certain_and_outlier():
    X = np.array(
        [
            [0.0, 0.0],
            [0.2, 0.1],
            [0.1, 0.0],
            [4.0, 0.0],
            [4.1, 0.2],
            [4.2, 0.1],
            [2.0, 0.1],
            [2.0, 90.0],
        ]
    )
    masses = (
        [[0, 1, 0, 0]] * 3 + [[0, 0, 1, 0]] * 3 + [[0, 0.1, 0.1, 0.8], [0.9, 0.1, 0, 0]]
    )
    partition = CredalPartition(masses, FocalSets.full(2))
    text = explain_object(partition, X, 6, feature_names=NAMES).to_text()
    assert text.startswith(
        "Object 6 is ambiguous between clusters 0 and 1 (mass 0.80 on the two together)."
    )
    assert "The nearest certain object of cluster 0 is 1 and of cluster 1 is 3." in text
    assert (
        explain_object(partition, X, 0)
        .to_text()
        .startswith("Object 0 is in cluster 0 (mass 1.00).")
    )
    text = explain_object(partition, X, 7, feature_names=NAMES).to_text()
    assert "is an outlier (mass 0.90 on the empty set)" in text
    assert "It is far even from the nearest cluster, mainly in weight (90)." in text


def test_masses_without_the_object_agree_with_the_fit():
    X = np.concatenate([POINTS, POINTS[:1]])  # with equal rows
    model = EVCLUS(3, random_state=0).fit(X)
    masses = model.credal_partition_.masses
    with block_map(1) as apply:
        for i in range(1, len(POINTS)):
            without = model._model.without(i)
            found = without.masses(X[[i]] + 1e-3, apply)[0]
            np.testing.assert_allclose(found, masses[i], atol=0.02)


def test_a_tenth_of_a_change_does_not_suffice():
    X = load_iris().data
    model = EVCLUS(3, random_state=0).fit(X)
    for i in (58, 118):
        for change in explain_object(model, X, i, feature_names=list("0123")).changes:
            row = X[i].copy()
            moved = [int(name) for name in change.attributes]
            row[moved] += 0.1 * (np.array(change.after) - np.array(change.before))
            assert len(model.predict_mass([row]).lower(change.cluster)) == 0


def test_text_describes_the_change(ecm):
    i = most_doubtful(ecm)
    why = explain_object(ecm, POINTS, i, feature_names=NAMES)
    change = next(change for change in why.changes if change.towards is None)
    sentence = f"certain object of cluster {change.cluster} if {change.attributes[0]} were {change.after[0]:.4g}"
    assert sentence in why.to_text()
    assert repr(why) == why.to_text()
    assert not explain_object(ecm, POINTS, i, changes=False).movable


def test_duplicate_attribute_names(ecm):
    i = most_doubtful(ecm)
    named, plain = (
        explain_object(ecm, POINTS, i, feature_names=names)
        for names in (["a", "a"], NAMES)
    )
    assert [change.after for change in named.changes] == [
        change.after for change in plain.changes
    ]


def test_cluster_names(ecm):
    partition = CredalPartition(ecm.credal_partition_, frame=["red", "green", "blue"])
    why = explain_object(partition, POINTS, 11, clusters=["blue", "red"])
    assert set(why.clusters) == {"blue", "red"}
    assert set(why.to_frame().columns[-2:]) == {"towards blue", "towards red"}
    np.testing.assert_allclose(
        why.difference, np.diff(why.parts, axis=1).ravel(), atol=1e-12
    )
    alone = explain_object(partition, POINTS, 11, clusters=["blue"])
    assert not alone.difference.any()


# ---- the edges -----------------------------------------------------------------------------------


def test_one_object_and_one_cluster():
    why = explain_object(ECM(1, random_state=0).fit(POINTS[:1]), POINTS[:1], 0)
    assert why.contributions.shape == (2, 1)
    assert "no other certain object" in why.to_text()
    alone = explain_object(ECM(1, random_state=0).fit(POINTS), POINTS, 11)
    np.testing.assert_array_equal(alone.contributions, alone.parts)
    assert alone.plot().bars_


def test_constant_attributes_and_duplicate_rows():
    X = np.repeat(np.column_stack([POINTS, np.full(60, 7.0)]), 2, axis=0)
    why = explain_object(ECM(3, random_state=0).fit(X), X, 22)
    assert why.contributions[2] == pytest.approx(0, abs=1e-9)
    assert not any(
        "attribute 2" in change.attributes
        for change in why.changes
        if change.towards is None
    )
    assert explain_object(
        EVCLUS(3, random_state=0).fit(X).credal_partition_, X, 22
    ).contributions[2] == pytest.approx(0)


def test_clusters_without_objects():
    masses = [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0.2, 0, 0.8], [1, 0, 0, 0.0]]
    partition = CredalPartition(masses, FocalSets.full(2))
    why = explain_object(partition, POINTS[:4], 2)
    assert why.clusters == (0,)
    with pytest.raises(ValueError, match=r"\bclusters\b"):
        explain_object(partition, POINTS[:4], 2, clusters=[0, 1])
    outliers = CredalPartition([[1.0, 0, 0, 0]] * 4, FocalSets.full(2))
    with pytest.raises(ValueError, match="all objects are outliers"):
        explain_object(outliers, POINTS[:4], 2)


@pytest.mark.parametrize("i", [60, -1, "a", 2.5, [1.0], {"x": 1}, None])
def test_invalid_objects(ecm, i):
    with pytest.raises(InvalidInputError, match="^i must"):
        explain_object(ecm, POINTS, i)


@pytest.mark.parametrize("cell", [np.inf, "a"])
def test_invalid_cells(ecm, cell):
    with pytest.raises(InvalidInputError, match="^i must be .* attribute 2"):
        explain_object(ecm, POINTS, [1.0, cell])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("clusters", [7]), ("clusters", []), ("clusters", [1, 1])),
        *(
            ("feature_names", ["a"]),
            ("metric", "cosine"),
            ("attributes", POINTS),
        ),
    ],
)
def test_invalid_arguments(ecm, name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        explain_object(ecm, POINTS, 3, **{name: value})


def test_invalid_estimators_and_tables(ecm):
    with pytest.raises(NotFittedError):
        explain_object(ECM(3), POINTS, 0)
    for estimator in (7, make_pipeline(StandardScaler(), ECM(3)).fit(POINTS)):
        with pytest.raises(InvalidInputError, match="^estimator must"):
            explain_object(estimator, POINTS, 0)
    with pytest.raises(InvalidInputError, match=r"\bX\b"):
        explain_object(ecm.credal_partition_, POINTS[:5], 0)
    table = pd.DataFrame(POINTS, index=["a", "a", *range(58)])
    for i in ("a", 59):
        with pytest.raises(InvalidInputError, match="^i must"):
            explain_object(ecm, table, i)
    with pytest.raises(InvalidInputError, match="finite"):
        explain_object(
            ecm.credal_partition_, np.where(POINTS[0, 0] == POINTS, np.inf, POINTS), 1
        )


# ---- the plot ------------------------------------------------------------------------------------


def test_plotted_bars(ecm):
    why = explain_object(ecm, POINTS, most_doubtful(ecm), feature_names=NAMES)
    display = why.plot(title="why")
    widths = [bar.get_width() for bar in display.bars_]
    assert widths[-1] == pytest.approx(sum(widths[:-1])) == pytest.approx(display.total)
    assert sorted(widths[:-1]) == pytest.approx(sorted(why.difference))
    assert display.ax_.get_title(loc="left") == "why"


def test_plot_joins_weak_attributes():
    X = np.random.default_rng(0).normal(size=(40, 30))
    display = explain_object(ECM(2, random_state=0).fit(X), X, 3, changes=False).plot()
    assert len(display.bars_) == 17
    assert display.ax_.get_yticklabels()[15].get_text() == "15 other attributes"
    assert sum(bar.get_width() for bar in display.bars_[:-1]) == pytest.approx(
        display.total
    )
    assert isinstance(display.explanation, ObjectExplanation)


def test_text_for_outlier_in_many_attributes():
    X = np.vstack(
        [np.random.default_rng(0).normal(size=(20, 60)), np.full((1, 60), 9.0)]
    )
    labels = [0] * 10 + [1] * 10 + [-1]
    assert "mainly in attribute" in explain_object(labels, X, 20).to_text()


def test_conformal_clustering_is_explained_by_its_clusterer():
    model = ConformalClustering(ECM(3, random_state=0), random_state=0).fit(POINTS)
    found = explain_object(model, POINTS, 3)
    assert found.to_text() == explain_object(model.clusterer_, POINTS, 3).to_text()
