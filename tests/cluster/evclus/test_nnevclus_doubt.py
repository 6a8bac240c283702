"""focal_sets="auto" of NN-EVCLUS: doubt that is read off, and learnt by the network."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets, persistence
from dempster.cluster import NNEVCLUS, Training
from dempster.cluster.evclus import nnevclus as _pretraining
from dempster.cluster.evclus._network import FeedForward, MassLayer
from dempster.cluster.evclus.nnevclus import compute_doubt_targets, fence_coefficients, score_matrix
from dempster.constraints import Constraints
from dempster.dissimilarity.sources import AttributeSource


@pytest.fixture(scope="module")
def row():
    """Four overlapping clusters in a row."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 90)
    return rng.normal(size=(len(y), 2)) + 4.0 * np.column_stack([y, np.zeros(len(y))]), y


@pytest.fixture(scope="module")
def fitted(row):
    return NNEVCLUS(4, random_state=0).fit(row[0])


def test_between_neighbors_and_nowhere_else(row, fitted):
    X, y = row
    assert adjusted_rand_score(y, fitted.labels_) > 0.85
    assert fitted.focal_sets_.empty_index is not None
    assert (fitted.focal_sets_.cardinality == 2).sum() == 3  # of four clusters in a row three pairs are neighbors
    partition = fitted.credal_partition_
    assert 0.02 < len(partition.ambiguous) / len(X) < 0.25
    assert len(partition.outliers) <= 0.03 * len(X)
    for i in partition.ambiguous:  # between the centers of both clusters
        ends = np.sort([np.median(X[fitted.labels_ == k, 0]) for k in np.flatnonzero(partition.assignment()[i])])
        assert ends[0] < X[i, 0] < ends[1]


def test_new_objects_by_a_forward_pass(row, fitted, tmp_path):
    X, _ = row
    new = np.random.default_rng(1).normal(size=(50, 2)) * 5
    path = tmp_path / "model.evd"
    persistence.save(fitted, path)
    for model in (fitted, pickle.loads(pickle.dumps(fitted)), persistence.load(path)):
        np.testing.assert_allclose(model.predict_mass(X).masses, fitted.credal_partition_.masses, atol=1e-12)
        np.testing.assert_array_equal(model.predict_mass(new).masses, fitted.predict_mass(new).masses)
    assert fitted.network_.sizes[-1] == len(fitted.focal_sets_)


def test_the_scale_is_told(fitted):
    assert fitted.d0_ == fitted.evclus_.d0_ == fitted.evclus_.scale_.best.d0
    assert "log-likelihood" in fitted.credal_partition_.metadata["choices"]["d0"]
    assert fitted.evclus_.focal_sets_ == FocalSets.simple(4)


def test_in_batches_and_from_a_sample(row, monkeypatch):
    """More objects than are taught, references that are some of them."""
    X, y = row
    from dempster.cluster.evclus import nnevclus as _doubt
    from dempster.cluster.evclus import nnevclus as _method

    monkeypatch.setattr(_method, "_MAX_DOUBT_ROWS", 200)
    monkeypatch.setattr(_doubt, "MAX_ALL_PAIRS_ROWS", 150)
    model = NNEVCLUS(4, training=Training("mini-batch", batch_size=64), max_iter=200, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 0 < len(model.credal_partition_.ambiguous) < 0.3 * len(X)


def test_what_is_known_is_kept(row):
    X, y = row
    partial = np.where(np.arange(len(y)) % 30 == 0, (y + 1) % 4, -1)  # other numbers than by position
    known = Constraints.from_labels(y, 40, random_state=0)
    model = NNEVCLUS(4, random_state=0).fit(X, partial, constraints=known)
    assert (model.labels_ == (y + 1) % 4).mean() > 0.93
    assert len(known.violations(model.credal_partition_)) <= 2


def test_an_outlier_detector_tells_the_outliers(row):
    X, _ = row
    for convention in ("program", "paper"):
        model = NNEVCLUS(4, outlier_detector="one-class-svm", convention=convention, random_state=0).fit(X)
        far = model.predict_mass([[60.0, 60.0], [-40.0, 0.0], [6.0, -50.0]])
        assert far.empty.min() > 0.9
        assert len(model.credal_partition_.outliers) <= 0.03 * len(X)
        assert np.median(model.credal_partition_.empty) < 0.05


@pytest.mark.parametrize("convention", ["program", "paper"])
def test_half_at_the_fence(convention):
    decision = np.linspace(-1, 3, 401)  # quartiles 0 and 2
    layer = MassLayer(0, True, convention)
    coefficients = fence_coefficients(layer, decision)
    share = layer.mass_to_empty(np.array([-6.0, -4.0, 0.0]), coefficients)
    np.testing.assert_allclose(share[1], 0.5)
    assert share[0] > 0.9
    assert share[2] < 0.06
    assert len(fence_coefficients(layer, None)) == 0


def test_a_wider_network_starts_from_the_scores():
    """Single clusters keep their scores, a pair has the mean of both, the frame has none."""
    first, family = FocalSets.simple(3), FocalSets.with_pairs(3, [(0, 2)], omega=False)
    network = FeedForward([2, 5, len(first)], MassLayer(0), np.dtype(float), np.random.default_rng(0))
    wider = network.widen(score_matrix(first, family), MassLayer(family.empty_index), np.empty(0))
    x = np.random.default_rng(1).normal(size=(7, 2))
    scores, of_sets = np.log(network(x)), np.log(wider(x))
    scores -= scores[:, [first.empty_index]]
    of_sets -= of_sets[:, [family.empty_index]]
    single, pair = first.singleton_index, family.index((0, 2))
    np.testing.assert_allclose(of_sets[:, family.singleton_index], scores[:, single])
    np.testing.assert_allclose(of_sets[:, pair], scores[:, single[[0, 2]]].mean(axis=1))


def test_lessons_are_what_evclus_reads_off(row):
    """References, scales and outliers are those of `DoubtModel`, of which this is the part without references."""
    from dempster.cluster import EVCLUS

    X, _ = row
    X = np.vstack([X, [[7.0, 60.0]]])
    model = EVCLUS(4, random_state=0).fit(X)
    labels = EVCLUS(4, focal_sets="simple", random_state=0).fit(X).labels_
    family, _, masses = compute_doubt_targets(
        AttributeSource(X), labels, 4, 10_000, np.random.default_rng(0), outliers=True
    )
    assert family == model.focal_sets_
    np.testing.assert_allclose(masses, model.credal_partition_.masses, atol=1e-6)
    family, few, without = compute_doubt_targets(
        AttributeSource(X), labels, 4, 100, np.random.default_rng(0), outliers=False
    )
    assert len(few) == 100
    assert without[:, family.empty_index].max() == 0


@pytest.mark.long
def test_networks_of_torch_learn_it_too(row, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(_pretraining, "_ADAM_STEPS", 1000)  # as many as users get
    X, y = row
    torch.manual_seed(0)
    layers = torch.nn.Linear(2, 20), torch.nn.Tanh(), torch.nn.Linear(20, 6)
    module = torch.nn.Sequential(*layers)
    model = NNEVCLUS(4, network=module, training=Training(batch_size=64), max_iter=100, tol=1e-3, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 0.01 < len(model.credal_partition_.ambiguous) / len(X) < 0.25
    assert len(model.credal_partition_.outliers) <= 0.03 * len(X)
    path = tmp_path / "model.evd"
    persistence.save(model, path)
    for again in (model, pickle.loads(pickle.dumps(model)), persistence.load(path, network=module)):
        np.testing.assert_allclose(again.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-6)
