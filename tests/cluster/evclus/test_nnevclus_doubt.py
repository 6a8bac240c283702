"""NN-EVCLUS with focal_sets="auto": doubt between neighboring clusters."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets, persistence
from dempster.cluster import EVCLUS, NNEVCLUS, Training
from dempster.cluster.evclus._network_targets import compute_doubt_targets
from dempster.constraints import Constraints
from dempster.dissimilarity.sources import AttributeSource

torch = pytest.importorskip("torch")

from dempster.cluster.evclus import _network_method, _network_training  # noqa: E402
from dempster.cluster.evclus._network_method import (  # noqa: E402
    add_sets,
    fence_coefficients,
)
from dempster.nn import MassNetwork  # noqa: E402


@pytest.fixture(scope="module")
def row():
    """Return four overlapping clusters in a row."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 90)
    return rng.normal(size=(len(y), 2)) + 4.0 * np.column_stack(
        [y, np.zeros(len(y))]
    ), y


@pytest.fixture(scope="module")
def fitted(row):
    return NNEVCLUS(4, random_state=0).fit(row[0])


def test_ambiguous_between_neighbors(row, fitted):
    X, y = row
    assert adjusted_rand_score(y, fitted.labels_) > 0.85
    assert fitted.focal_sets_.empty_index is not None
    assert (fitted.focal_sets_.cardinality == 2).sum() == 3
    partition = fitted.credal_partition_
    assert 0.01 < len(partition.ambiguous) / len(X) < 0.25
    assert len(partition.outliers) <= 0.03 * len(X)
    for i in partition.ambiguous:
        ends = np.sort(
            [
                np.median(X[fitted.labels_ == k, 0])
                for k in np.flatnonzero(partition.assignment()[i])
            ]
        )
        assert ends[0] < X[i, 0] < ends[1]


def test_predict_agrees_with_fit(row, fitted, tmp_path):
    X, _ = row
    new = np.random.default_rng(1).normal(size=(50, 2)) * 5
    path = tmp_path / "model.evd"
    persistence.save(fitted, path)
    for model in (fitted, pickle.loads(pickle.dumps(fitted)), persistence.load(path)):
        np.testing.assert_allclose(
            model.predict_mass(X).masses, fitted.credal_partition_.masses, atol=1e-12
        )
        np.testing.assert_array_equal(
            model.predict_mass(new).masses, fitted.predict_mass(new).masses
        )
    assert fitted.network_.head.out_features == len(fitted.focal_sets_)


def test_scale(fitted):
    assert fitted.d0_ == fitted.evclus_.d0_ == fitted.evclus_.scale_.best.d0
    assert "log-likelihood" in fitted.credal_partition_.metadata["choices"]["d0"]
    assert fitted.evclus_.focal_sets_ == FocalSets.simple(4)


def test_mini_batches_and_samples(row, monkeypatch):
    X, y = row
    monkeypatch.setattr(_network_method, "_MAX_DOUBT_ROWS", 200)
    monkeypatch.setattr(_network_method, "MAX_ALL_PAIRS_ROWS", 150)
    model = NNEVCLUS(
        4, training=Training("mini-batch", batch_size=64), max_iter=200, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 0 < len(model.credal_partition_.ambiguous) < 0.3 * len(X)


def test_labels_and_constraints_are_kept(row):
    X, y = row
    partial = np.where(np.arange(len(y)) % 30 == 0, (y + 1) % 4, -1)
    known = Constraints.from_labels(y, 40, random_state=0)
    model = NNEVCLUS(4, random_state=0).fit(X, partial, constraints=known)
    assert (model.labels_ == (y + 1) % 4).mean() > 0.93
    assert len(known.violations(model.credal_partition_)) <= 2


def test_outlier_detector(row):
    X, _ = row
    for convention in ("program", "paper"):
        model = NNEVCLUS(
            4, outlier_detector="one-class-svm", convention=convention, random_state=0
        ).fit(X)
        far = model.predict_mass([[60.0, 60.0], [-40.0, 0.0], [6.0, -50.0]])
        assert far.empty.min() > 0.9
        assert len(model.credal_partition_.outliers) <= 0.03 * len(X)
        assert np.median(model.credal_partition_.empty) < 0.05


@pytest.mark.parametrize("convention", ["program", "paper"])
def test_fence_coefficients(convention):
    quantiles = [0, 0.02, 0.25, 0.75, 1]
    decision = np.interp(np.linspace(0, 1, 401), quantiles, [-10, -8, 0, 2, 3])
    network = MassNetwork(torch.nn.Identity(), 0, convention)
    falls = convention == "program"

    def shares(h, decision):
        """Return the masses on the empty set, which come from the outlier unit only."""
        coefficients = torch.tensor(fence_coefficients(decision, falls=falls))
        network.coefficients = torch.nn.Parameter(coefficients)
        scores = torch.tensor([[-1e3, 0.0]] * len(h), dtype=torch.float64)
        return network(scores, torch.tensor(h))[:, 0].tolist()

    below, at_fence, inside = shares([-6.0, -4.0, 0.0], decision)
    assert at_fence == pytest.approx(0.5)
    assert below > 0.9
    assert inside < 0.06
    # The fence is at the quantile 0.01 if there are no smaller decision values.
    assert shares([-0.96], np.linspace(-1, 3, 401)) == pytest.approx([0.5])


def test_new_rows_are_not_outliers():
    """In many dimensions, a detector distinguishes its training rows from new rows."""
    X, y = make_blobs(400, 20, centers=4, center_box=(-4, 4), random_state=0)
    known = X[y < 3]
    model = NNEVCLUS(3, outlier_detector="one-class-svm", random_state=0).fit(
        known[::2]
    )
    assert len(model.credal_partition_.outliers) <= 0.02 * len(known[::2])
    assert len(model.predict_mass(known[1::2]).outliers) <= 0.1 * len(known[1::2])
    assert len(model.predict_mass(X[y == 3]).outliers) >= 0.9 * (y == 3).sum()


def test_add_sets():
    """Single clusters keep their scores, and a pair has the mean of both."""
    first = FocalSets.simple(3)
    family = FocalSets.with_pairs(3, [(0, 2)], omega=False)
    body = torch.nn.Linear(2, len(first), dtype=torch.float64)
    network = MassNetwork(body, first.empty_index)
    wider = add_sets(network, first, family, None)
    x = torch.tensor(np.random.default_rng(1).normal(size=(7, 2)))
    scores = network.scores(x).detach().numpy()
    of_sets = wider.scores(x).detach().numpy()
    single = first.singleton_index
    pair = family.index((0, 2))
    empty = of_sets[:, family.empty_index]
    np.testing.assert_allclose(empty, scores[:, first.empty_index])
    np.testing.assert_allclose(of_sets[:, family.singleton_index], scores[:, single])
    np.testing.assert_allclose(of_sets[:, pair], scores[:, single[[0, 2]]].mean(axis=1))
    wider.head.weight.data.zero_()
    assert network.scores(x).detach().abs().max() > 0  # the weights are copied


def test_doubt_targets_equal_evclus(row):
    X, _ = row
    X = np.vstack([X, [[7.0, 60.0]]])
    model = EVCLUS(4, random_state=0).fit(X)
    labels = EVCLUS(4, focal_sets="simple", random_state=0).fit(X).labels_
    family, _, masses = compute_doubt_targets(
        AttributeSource(X),
        labels.__getitem__,
        4,
        10_000,
        np.random.default_rng(0),
        outliers=True,
    )
    assert family == model.focal_sets_
    np.testing.assert_allclose(masses, model.credal_partition_.masses, atol=1e-6)
    family, few, without = compute_doubt_targets(
        AttributeSource(X),
        labels.__getitem__,
        4,
        100,
        np.random.default_rng(0),
        outliers=False,
    )
    assert len(few) == 100
    assert without[:, family.empty_index].max() == 0


@pytest.mark.long
def test_torch_network(row, tmp_path, monkeypatch):
    monkeypatch.setattr(_network_training, "_PRETRAINING_EPOCHS", 20)  # the default
    X, y = row
    torch.manual_seed(0)
    layers = torch.nn.Linear(2, 20), torch.nn.Tanh(), torch.nn.Linear(20, 6)
    module = torch.nn.Sequential(*layers)
    model = NNEVCLUS(
        4,
        network=module,
        training=Training(batch_size=64),
        max_iter=100,
        tol=1e-3,
        random_state=0,
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert 0.01 < len(model.credal_partition_.ambiguous) / len(X) < 0.25
    assert len(model.credal_partition_.outliers) <= 0.03 * len(X)
    path = tmp_path / "model.evd"
    persistence.save(model, path)
    for again in (
        model,
        pickle.loads(pickle.dumps(model)),
        persistence.load(path, network=module),
    ):
        np.testing.assert_allclose(
            again.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-6
        )
