"""Checks of scikit-learn for all public clusterers and for variants of them."""

import inspect

import pytest
from sklearn.base import ClusterMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import cluster
from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    WMVEC,
    BeliefPeaks,
    BootClus,
    CatECM,
    CredalClustering,
    ECMdd,
    EKNNClus,
    WECMdd,
)
from dempster.mixture import LatentClassModel

PUBLIC = {name: getattr(cluster, name) for name in cluster.__all__}
KINDS = {
    name: kind
    for name, kind in PUBLIC.items()
    if inspect.isclass(kind) and issubclass(kind, ClusterMixin)
}
QUICK = {
    "NNEVCLUS": {"max_iter": 60, "network": 10},
    "BootClus": {"n_bootstraps": 30},
    "CredalClustering": {"shape": "compact"},
}


def quick(estimator):
    """Return the estimator with one start, because the checks make a thousand fits."""
    if "n_init" in estimator.get_params():
        return estimator.set_params(n_init=1)
    return estimator


CLUSTERERS = [kind(**QUICK.get(name, {})) for name, kind in KINDS.items()]
VARIANTS = [
    CredalClustering(),
    EKNNClus(metric="precomputed"),
    ECM(missing="partial"),
    CatECM(focal_sets="selected", missing="category", handle_unknown="ignore"),
    ECMdd(metric="precomputed"),
    EVCLUS(metric="precomputed"),
    EVCLUS(missing="partial"),
    BeliefPeaks(metric="precomputed"),
    ECM(focal_sets="selected", beta=1.5),
    ECM(metric="adaptive"),
    RECM(focal_sets="selected"),
    RECM(metric="precomputed"),
    CECM(metric="adaptive"),
    CCM(focal_sets="selected", gamma=0.5),
    BPEC(metric="adaptive", focal_sets="selected"),
    EGMM(focal_sets="selected"),
    EGMM(covariance="own", reg_covar=1e-3),
    MECM(metric="precomputed"),
    WECMdd(metric="precomputed", focal_sets="selected"),
    EVCLUS(focal_sets="selected"),
    EVCLUS(sampling="random", n_partners=10),
    EVCLUS(sampling="landmarks", n_landmarks=10),
    WMVEC(focal_sets="selected", views="attributes"),
    BootClus(n_bootstraps=20, n_partners=10, mixture="VII"),
    BootClus(
        n_bootstraps=10, mixture=LatentClassModel(handle_unknown="ignore", n_init=2)
    ),
]


def expected_failures(estimator):
    """Return the checks that cannot pass, with the reason."""
    if isinstance(estimator, ECM | CECM) and estimator.metric == "adaptive":
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "15 objects in 10 dimensions leave every scatter matrix singular, so the learnt metrics, and with "
                "them the clusters, hang on rounding errors"
            )
        }
    if getattr(estimator, "metric", None) == "precomputed":
        failures = {
            "check_clustering": "it hands over attributes, whatever the tags say, and dissimilarities are square"
        }
        if estimator.__sklearn_tags__().input_tags.sparse:
            for kind in ("array", "matrix"):
                failures[f"check_estimator_sparse_{kind}"] = (
                    "it takes clusterers with predict_proba for classifiers"
                )
        return failures
    if isinstance(estimator, CatECM) or isinstance(
        getattr(estimator, "mixture", None), LatentClassModel
    ):
        failures = {
            "check_clustering": "it hands over numbers that are all different, so no two categories agree"
        }
        if getattr(estimator, "handle_unknown", "") == "error":
            failures["check_sample_weight_equivalence_on_dense_data"] = (
                "it leaves out objects whose categories it then predicts"
            )
        return failures
    return {}


# SECM says in its tags that it takes images, so that scikit-learn has one check for it only.
@parametrize_with_checks(
    [quick(estimator) for estimator in CLUSTERERS],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(
    [quick(estimator) for estimator in VARIANTS],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)
