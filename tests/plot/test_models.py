"""Displays of mixtures, BIC, and candidates of CredalClustering."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.mixture import GaussianMixture

from dempster.cluster import CredalClustering
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.persistence import load, save
from dempster.plot import BICDisplay, CandidatesDisplay, MixtureDisplay
from dempster.plot.number_of_clusters import match_labels

rng = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = np.array([[0.0, 0, 0], [6, 0, 3], [0, 7, -3]])[Y] + rng.normal(size=(60, 3))


def test_ellipses_have_constant_density():
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    mixture = GaussianMixture(3, random_state=0).fit(table)
    display = MixtureDisplay.from_estimator(mixture, table)
    assert display.pairs == [(0, 1), (0, 2), (1, 2)]
    assert [ax.get_xlabel() + ax.get_ylabel() for ax in display.axes_] == [
        "uv",
        "uw",
        "vw",
    ]
    for pair, lines in zip(display.pairs, display.ellipses_, strict=True):
        for i, line in enumerate(lines):
            k = i // 2
            plane = np.ix_(pair, pair)
            gap = line.get_xydata() - mixture.means_[k, list(pair)]
            squared = np.einsum(
                "ip,pq,iq->i", gap, np.linalg.inv(mixture.covariances_[k][plane]), gap
            )
            np.testing.assert_allclose(squared, chi2(2).ppf((0.5, 0.95)[i % 2]))


def test_invalid_mixtures():
    with pytest.raises(ValueError, match="^covariances must"):
        MixtureDisplay.from_estimator(
            GaussianMixture(3, covariance_type="diag", random_state=0).fit(X), X
        )
    with pytest.raises(ValueError, match="2 to 6 attributes, got 7"):
        MixtureDisplay(
            points=np.ones((4, 7)),
            labels=[0] * 4,
            means=np.ones((1, 7)),
            covariances=np.ones((1, 7, 7)),
        )


def test_bic_of_a_mixture():
    mixture = ParsimoniousGaussianMixture(
        [1, 2, 3], model=["VVV", "EII"], random_state=0
    ).fit(X)
    display = BICDisplay.from_estimator(mixture)
    assert list(display.bic) == list(
        dict.fromkeys(mixture.bic_table_.index.get_level_values("model"))
    )
    assert display.best == (mixture.n_components_, mixture.model_)
    for name, line in zip(display.bic, display.lines_, strict=True):
        np.testing.assert_array_equal(
            line.get_ydata(), [mixture.bic_table_["bic"][k, name] for k in (1, 2, 3)]
        )


def test_labels_are_matched():
    reference = np.array([0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(
        match_labels(np.array([2, 2, 0, 0, 1, 0]), reference), [0, 0, 1, 1, 2, 1]
    )
    assert match_labels(np.array([1, 1, 2, 2, 3, 0]), reference).tolist()[:4] == [
        0,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_candidates(metric, tmp_path):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = CredalClustering(3, metric=metric, random_state=0).fit(
        X if metric == "euclidean" else D
    )
    table = model.candidates_
    n = len(X)
    assert model.candidate_labels_.shape == (len(table), n)
    # Classical scaling of Euclidean distances gives the principal components.
    if metric == "euclidean":
        rows = np.unique(X, axis=0)
    else:
        rows = X
    variances = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:2] ** 2
    np.testing.assert_allclose(
        model.candidate_points_.T @ model.candidate_points_,
        np.diag(variances),
        atol=1e-8,
    )
    display = CandidatesDisplay.from_estimator(model)
    assert len(display.axes_) == len(table)
    assert display.selected.tolist() == table["selected"].tolist()
    assert all(
        method in name
        for method, name in zip(table["method"], display.names, strict=True)
    )
    save(model, tmp_path / "model.dempster")
    again = CandidatesDisplay.from_estimator(load(tmp_path / "model.dempster"))
    np.testing.assert_array_equal(again.labels, display.labels)
    np.testing.assert_array_equal(again.points, display.points)


def test_candidates_of_two_attributes_and_of_few_objects():
    table = pd.DataFrame(X[:, :2], columns=["u", "v"])
    model = CredalClustering(3, shape="compact", random_state=0).fit(table)
    display = CandidatesDisplay.from_estimator(model)
    assert display.axis_names == ("u", "v")
    np.testing.assert_array_equal(
        np.unique(display.points, axis=0), np.unique(X[:, :2], axis=0)
    )
    few = CredalClustering(3, random_state=0).fit(X[::10])
    with pytest.raises(ValueError, match="candidate_labels_"):
        CandidatesDisplay.from_estimator(few)
