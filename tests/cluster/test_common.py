"""All clusterers through scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from evidentia.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    BootClus,
    CatECM,
    ECMdd,
    EKNNClus,
    WECMdd,
)

CLUSTERERS = [
    EKNNClus(),
    EKNNClus(metric="precomputed"),
    ECM(),
    ECM(focal_sets="selected", beta=1.5),
    ECM(metric="adaptive"),
    RECM(),
    RECM(focal_sets="selected"),
    RECM(metric="precomputed"),
    CECM(),
    CECM(metric="adaptive"),
    CatECM(),
    CatECM(focal_sets="selected", missing="category", handle_unknown="ignore"),
    CCM(),
    CCM(focal_sets="selected", gamma=0.5),
    BPEC(),
    BPEC(metric="adaptive", focal_sets="selected"),
    EGMM(),
    EGMM(focal_sets="selected"),
    MECM(),
    MECM(metric="precomputed"),
    ECMdd(),
    ECMdd(metric="precomputed"),
    WECMdd(),
    WECMdd(metric="precomputed", focal_sets="selected"),
    EVCLUS(),
    EVCLUS(focal_sets="selected"),
    EVCLUS(sampling="random", n_partners=10),
    EVCLUS(sampling="landmarks", n_landmarks=10),
    EVCLUS(metric="precomputed"),
    BootClus(),
    BootClus(n_bootstraps=20, n_partners=10, mixture="VII"),
    NNEVCLUS(max_iter=60, network=10),
]


def expected_failures(estimator):
    """Checks that cannot pass, with the reason."""
    if isinstance(estimator, EVCLUS) and estimator.metric != "precomputed":
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "copies of an object are one more pair, at dissimilarity zero, which a weight of two is not"
            )
        }
    if isinstance(estimator, ECM) and estimator.metric == "adaptive":
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "15 objects in 10 dimensions leave every scatter matrix singular, so the learnt metrics, and with "
                "them the clusters, hang on rounding errors"
            )
        }
    if isinstance(estimator, EVCLUS | EKNNClus | RECM | MECM | ECMdd | WECMdd) and estimator.metric == "precomputed":
        return {"check_clustering": "it hands over attributes, whatever the tags say, and dissimilarities are square"}
    if isinstance(estimator, CatECM):
        failures = {"check_clustering": "it hands over numbers that are all different, so no two categories agree"}
        if estimator.handle_unknown == "error":
            failures["check_sample_weight_equivalence_on_dense_data"] = (
                "it leaves out objects whose categories it then predicts"
            )
        return failures
    return {}


@parametrize_with_checks(CLUSTERERS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)
