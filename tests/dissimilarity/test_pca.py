"""Attributes from dissimilarities: projection of old and new objects."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster.dissimilarity import DissimilarityPCA


class OnDistances(DissimilarityPCA):
    """Estimator to which scikit-learn's checks pass distances instead of inner products."""

    metric = "precomputed"


@parametrize_with_checks([OnDistances(1)])
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def dissimilarities():
    X, y = make_blobs(120, 4, centers=3, random_state=0)
    return pairwise_distances(X, metric="cityblock"), y


@pytest.mark.parametrize("whiten", [True, False])
def test_definition(dissimilarities, whiten):
    """Center the rows, decompose, project (Denoeux, 2021, section 4.2)."""
    D, _ = dissimilarities
    centred = D - D.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred)
    expected = left[:, :4] * (np.sqrt(len(D) - 1) if whiten else singular[:4])
    pca = DissimilarityPCA(4, whiten=whiten)
    scores = pca.fit_transform(D)
    sign = np.sign((scores * expected).sum(axis=0))
    np.testing.assert_allclose(
        scores, expected * sign, rtol=1e-8, atol=1e-8 * np.abs(expected).max()
    )
    np.testing.assert_allclose(
        pca.explained_variance_, singular[:4] ** 2 / (len(D) - 1)
    )
    if whiten:
        np.testing.assert_allclose(scores.std(axis=0, ddof=1), 1)


@pytest.mark.parametrize("whiten", [True, False])
def test_training_rows_project_to_the_fitted_attributes(dissimilarities, whiten):
    D, _ = dissimilarities
    pca = DissimilarityPCA(5, whiten=whiten)
    scores = pca.fit_transform(D)
    assert scores.shape == (120, 5)
    np.testing.assert_array_equal(pca.transform(D), scores)
    np.testing.assert_allclose(
        pca.transform(D[7:9]), scores[7:9], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_array_equal(clone(pca).fit(D).transform(D), scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pca)).transform(D), scores)
    assert pca.get_feature_names_out()[0] == "dissimilaritypca0"


def test_new_objects(dissimilarities):
    D, y = dissimilarities
    train = np.arange(120) % 2 == 0
    pca = DissimilarityPCA(2).fit(D[np.ix_(train, train)])
    new = pca.transform(D[np.ix_(~train, train)])
    mixture = GaussianMixture(3, random_state=0).fit(
        pca.transform(D[np.ix_(train, train)])
    )
    assert adjusted_rand_score(y[~train], mixture.predict(new)) == 1


def test_protein(shared_data):
    D, y = shared_data("protein")
    scores = DissimilarityPCA(3).fit_transform(D)
    labels = GaussianMixture(4, n_init=3, random_state=0).fit_predict(scores)
    assert adjusted_rand_score(y, labels) > 0.9


def test_many_objects_by_random_projection():
    X, _ = make_blobs(520, 3, centers=4, random_state=0)
    D = pairwise_distances(X)
    pca = DissimilarityPCA(3, random_state=0).fit(D)
    singular = np.linalg.svd(D - D.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(
        pca.explained_variance_, singular[:3] ** 2 / 519, rtol=1e-4
    )
    again = DissimilarityPCA(3, random_state=0).fit(D)
    np.testing.assert_array_equal(again.components_, pca.components_)


def test_constant_directions_give_zero():
    place = np.repeat([0.0, 1.0], 10)  # two places only: one direction
    scores = DissimilarityPCA(3).fit_transform(np.abs(place[:, None] - place))
    np.testing.assert_allclose(np.abs(scores[:, 0]), np.sqrt(19 / 20))
    np.testing.assert_array_equal(scores[:, 1:], 0)
    np.testing.assert_array_equal(
        DissimilarityPCA(2).fit_transform(np.zeros((5, 5))), 0
    )


def test_float32(dissimilarities):
    D, _ = dissimilarities
    scores = DissimilarityPCA(2).fit_transform(D.astype(np.float32))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, DissimilarityPCA(2).fit_transform(D), atol=1e-3)


def test_asymmetric(dissimilarities):
    D, _ = dissimilarities
    skewed = D * (1 + 0.1 * np.triu(np.ones_like(D)))
    with pytest.raises(ValueError, match="symmetric"):
        DissimilarityPCA(2).fit(skewed)
    both = DissimilarityPCA(2, symmetrize=True).fit_transform(skewed)
    np.testing.assert_allclose(
        both, DissimilarityPCA(2).fit_transform((skewed + skewed.T) / 2)
    )


def test_errors(dissimilarities):
    D, _ = dissimilarities
    with pytest.raises(ValueError, match="square matrix"):
        DissimilarityPCA().fit(D[:50])
    with pytest.raises(ValueError, match="Negative values in data"):
        DissimilarityPCA().fit(-D)
    with pytest.raises(ValueError, match="zero diagonal"):
        DissimilarityPCA().fit(D + 1)
    with pytest.raises(ValueError, match="n_components must"):
        DissimilarityPCA(121).fit(D)
    with pytest.raises(ValueError, match="n_components must"):
        DissimilarityPCA(0.9).fit(D)
    with pytest.raises(NotFittedError):
        DissimilarityPCA().transform(D)
    pca = DissimilarityPCA().fit(D)
    with pytest.raises(
        ValueError, match="119 features, but DissimilarityPCA is expecting 120"
    ):
        pca.transform(D[:, 1:])
    with pytest.raises(ValueError, match="Negative values in data"):
        pca.transform(-D)
