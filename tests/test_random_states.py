"""A random_state can be None, an integer, a RandomState or a Generator, and equal states give equal results."""

import importlib
import inspect
import pkgutil
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

import dempster
from dempster import (
    CredalPartition,
    _random,
    apps,
    classify,
    cluster,
    datasets,
    dissimilarity,
    explain,
    labels,
    metric,
    mixture,
    model_selection,
    partition,
)
from dempster._errors import InvalidInputError
from dempster.apps import recipe, report
from dempster.constraints import Constraints, suggest_pairs
from tests.classify.test_contract import CLASSIFIERS, get_parameters
from tests.cluster.contract import SUBJECTS, answer
from tests.limits import by_thirds, third_of

X, y = make_blobs(60, 2, centers=3, cluster_std=1.5, random_state=0)
D = np.linalg.norm(X[:, None] - X, axis=2)
CATEGORIES = np.digitize(X, [-1.0, 1.0, 3.0])
OTHER = (y + (X[:, 0] > 1)) % 3


@cache
def fitted(name):
    model = {
        "EVCLUS": lambda: cluster.EVCLUS(3, random_state=0).fit(X),
        "NNEVCLUS": lambda: cluster.NNEVCLUS(
            3, max_iter=3, network=5, random_state=0
        ).fit(X),
        "BootClus": lambda: cluster.BootClus(
            3, n_bootstraps=10, mixture="EII", random_state=0
        ).fit(X),
        "latent classes": lambda: mixture.LatentClassModel(2, random_state=0).fit(
            CATEGORIES
        ),
        "mixture": lambda: mixture.ParsimoniousGaussianMixture(3, random_state=0).fit(
            X
        ),
    }
    return model[name]()


def clustered(name, data=X, **parameters):
    def masses(random_state):
        model = getattr(cluster, name)(3, **parameters, random_state=random_state).fit(
            data
        )
        return model.credal_partition_.masses

    return masses


def classified(name, **parameters):
    return lambda state: (
        getattr(classify, name)(**parameters, n_init=1, random_state=state)
        .fit(X, y)
        .predict_mass(X)
        .masses
    )


def transformed(name, **parameters):
    return lambda state: (
        getattr(metric, name)(**parameters, max_pairs=100, random_state=state)
        .fit(X, OTHER)
        .transform(X)
    )


def fit_subject(subject):
    return lambda state: answer(subject.make(random_state=state).fit(subject.data))


# Functions of the random state that return masses or other random results. Clusterers, classifiers
# and metrics are found automatically.
CASES = {
    f"cluster.{subject}": fit_subject(subject)
    for subject in SUBJECTS
    if "random_state" in subject.parameters
}
CASES |= {
    f"classify.{kind.__name__}": classified(kind.__name__)
    for kind in CLASSIFIERS
    if "random_state" in get_parameters(kind)
}
CASES |= {
    f"metric.{name}": transformed(name)
    for name in metric.__all__
    if "random_state" in inspect.signature(getattr(metric, name)).parameters
}
CASES |= {
    "labels.doubt": lambda state: labels.doubt(X, y, random_state=state).masses,
    "labels.evaluate": lambda state: (
        labels.evaluate(X, y, random_state=state).expected_agreement
    ),
    "labels.compare_labels": lambda state: labels.compare_labels(
        X, {"y": y, "other": OTHER}, random_state=state
    )["expected_agreement"],
    "labels.LabeledClustering": lambda state: (
        labels.LabeledClustering(random_state=state).fit(X, y).credal_partition_.masses
    ),
    "labels.LabeledPartition.with_doubt": lambda state: (
        labels.doubt(X, y, random_state=0).with_doubt(X, random_state=state).masses
    ),
    "partition.CredalPartition.with_doubt": lambda state: (
        fitted("EVCLUS").credal_partition_.with_doubt(X, random_state=state).masses
    ),
}
CASES |= {
    "cluster.BeliefPeaks": lambda state: (
        cluster.BeliefPeaks(3, random_state=state).fit(X).belief_
    ),
    "cluster.ConformalClustering": lambda state: (
        cluster.ConformalClustering(
            GaussianMixture(3, random_state=0), n_refits=1, random_state=state
        )
        .fit(X)
        .credal_partition_.masses
    ),
    "cluster.ConformalNoveltyDetector": lambda state: (
        cluster.ConformalNoveltyDetector(
            GaussianMixture(3, random_state=0), random_state=state
        )
        .fit(X)
        .calibration_scores_
    ),
    "cluster.EVCLUS": clustered("EVCLUS", init="random", n_init=2),
    "cluster.EVCLUS.shepard": lambda state: (
        fitted("EVCLUS").shepard(30, state).conflict
    ),
    "cluster.NNEVCLUS.shepard": lambda state: (
        fitted("NNEVCLUS").shepard(30, state).conflict
    ),
    "classify.ConformalClassifier": lambda state: (
        classify.ConformalClassifier(random_state=state).fit(X, y).calibration_scores_
    ),
    "mixture.LatentClassModel": lambda state: (
        mixture.LatentClassModel(2, n_init=2, random_state=state)
        .fit(CATEGORIES)
        .weights_
    ),
    "mixture.LatentClassModel.sample": lambda state: fitted("latent classes").sample(
        9, state
    )[0],
    "mixture.ParsimoniousGaussianMixture.sample": lambda state: fitted(
        "mixture"
    ).sample(9, state)[0],
    "mixture.ParsimoniousGaussianMixture": lambda state: (
        mixture.ParsimoniousGaussianMixture(
            3, model="EII", init="k-means", random_state=state
        )
        .fit(X)
        .means_
    ),
    "dissimilarity.DissimilarityPCA": lambda state: dissimilarity.DissimilarityPCA(
        2, random_state=state
    ).fit_transform(D),
    "constraints.Constraints.from_labels": lambda state: (
        Constraints.from_labels(y, 9, state).cannot_link
    ),
    "constraints.suggest_pairs": lambda state: suggest_pairs(
        CredalPartition.from_fuzzy(np.full((60, 3), 1 / 3)), 9, random_state=state
    ),
    "datasets.make_bananas": lambda state: datasets.make_bananas(9, random_state=state)[
        0
    ],
    "datasets.make_circles": lambda state: datasets.make_circles(9, random_state=state)[
        0
    ],
    "datasets.make_fourclass": lambda state: datasets.make_fourclass(
        9, random_state=state
    )[0],
    "datasets.make_gaussian_mixture": lambda state: datasets.make_gaussian_mixture(
        1, 9, random_state=state
    )[0],
    "explain.credal_silhouette": lambda state: (
        explain.credal_silhouette(y, X, sample_size=20, random_state=state).values
    ),
    "explain.quality": lambda state: explain.quality(
        y, X, random_state=state
    ).to_frame()["shuffled"],
    "explain.stability": lambda state: (
        explain.stability(cluster.ECM(3), X, 2, random_state=state).objects
    ),
    "model_selection.number_of_clusters": lambda state: (
        model_selection.number_of_clusters(X, random_state=state).plausibility
    ),
    "partition.combine_partitions": lambda state: (
        partition.combine_partitions([y, OTHER], max_iter=5, random_state=state).masses
    ),
    "partition.credal_rand_index": lambda state: partition.credal_rand_index(
        y, OTHER, n_pairs=50, random_state=state
    ),
    "apps.recipe.constraints_from_labels": lambda state: (
        recipe.constraints_from_labels(np.tile(y, 20), state).cannot_link
    ),
    "apps.report.make_report": lambda state: report.make_report(
        y, X, random_state=state
    ).to_html(),
}


def functions_with_random_state():
    """Return all public functions, estimators and methods with a parameter random_state."""
    found = set()
    for package in [
        *pkgutil.iter_modules(dempster.__path__, ""),
        *pkgutil.iter_modules(apps.__path__, "apps."),
    ]:
        if package.name.startswith("_") or not package.ispkg:
            continue
        module = importlib.import_module(f"dempster.{package.name}")
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if inspect.isclass(value):
                members = inspect.getmembers(value, callable)
                functions = {
                    f"{name}.{k}": member
                    for k, member in members
                    if not k.startswith("_")
                } | {name: value}
            else:
                if callable(value):
                    functions = {name: value}
                else:
                    functions = {}
            found |= {
                f"{package.name}.{n}"
                for n, function in functions.items()
                if _has_random_state(function)
            }
    return found


def _has_random_state(function):
    try:
        return "random_state" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # Some built-in types have no signature.
        return False


def test_all_functions_with_random_state_are_tested():
    assert functions_with_random_state() == set(CASES)


KINDS = [
    lambda: np.int64(3),
    lambda: np.random.RandomState(3),
    lambda: np.random.default_rng(3),
]


@by_thirds
@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_random_state(name, third):
    draw = CASES[name]
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    for make in third_of(KINDS, list(CASES).index(name), third):
        np.testing.assert_array_equal(draw(make()), draw(make()))
    draw(None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002, the global state is unchanged
    plt.close("all")


# ---- types of random states ----------------------------------------------------------------------


def test_same_numbers_as_numpy():
    assert _random.as_generator(3).integers(2**62) == np.random.default_rng(3).integers(
        2**62
    )
    assert _random.as_random_state(3).randint(2**31) == np.random.RandomState(
        3
    ).randint(2**31)
    assert (
        _random.as_seed_sequence(3).entropy == _random.as_integer_seed(np.int32(3)) == 3
    )
    given = np.random.default_rng(3), np.random.RandomState(3)
    assert _random.as_generator(given[0]) is given[0]
    assert _random.as_random_state(given[1]) is given[1]
    # The global state of `numpy.random`.
    assert _random.as_random_state(None) is not np.random.mtrand._rand


FORMS = {
    "generator": lambda state: _random.as_generator(state).integers(2**62),
    "as_random_state": lambda state: _random.as_random_state(state).randint(2**31 - 1),
    "seed_sequence": lambda state: int(
        _random.as_seed_sequence(state).generate_state(1, np.uint64)[0]
    ),
    "seed_number": _random.as_integer_seed,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_state_advances(form, kind):
    state = kind(0)
    first = FORMS[form](state)
    second = FORMS[form](state)
    assert first != second
    assert first == FORMS[form](kind(0))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrong", ["3", 2.5, [1, 2], -1])
def test_invalid_random_states(form, wrong):
    with pytest.raises(InvalidInputError, match=r"\brandom_state\b"):
        FORMS[form](wrong)


def test_large_seeds():
    large = 2**40
    assert _random.as_generator(large).integers(2**62) == np.random.default_rng(
        large
    ).integers(2**62)
    with pytest.raises(ValueError, match=r"\brandom_state\b"):
        _random.as_random_state(large)
