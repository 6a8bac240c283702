"""EvidenceFromClassifier and weights of evidence."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EvidenceFromClassifier
from dempster.classify._weights import (
    WeightsOfEvidence,
    evidence_family,
    least_informative,
)
from dempster.classify.evidence import _to_scores


@parametrize_with_checks(
    [
        EvidenceFromClassifier(),
        EvidenceFromClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        EvidenceFromClassifier(
            MLPClassifier(5, solver="lbfgs", max_iter=100, random_state=0)
        ),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- reference results ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["calcm_logistic_binary", "calcm_multinomial_iris", "calcm_nnet_glass"]
)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    if case["W"].ndim == 1:  # Their first class is the positive one.
        scores = _to_scores(case["W"][1:, None], case["W"][:1])
        coefficients, intercepts = (values[..., ::-1] for values in scores)
    else:
        coefficients = case["W"][1:]
        intercepts = case["W"][0]
    slopes, offsets = least_informative(coefficients, intercepts, case["mu"])
    # Two classes have half of the log-odds each.
    if case["W"].ndim > 1:
        share = 1
    else:
        share = 2
    case.assert_equal("B", share * (slopes if share == 1 else slopes[:, 0]))
    case.assert_equal("A", share * (offsets if share == 1 else offsets[:, 0]))
    plain = least_informative(coefficients, intercepts, np.zeros(len(slopes)))[1]
    case.assert_equal("A_nomu", share * (plain if share == 1 else plain[:, 0]))
    evidence = WeightsOfEvidence.from_features(case["x"], slopes, offsets)
    family = evidence_family("full", len(intercepts))
    masses = MassFunctions(evidence.masses(family), family)
    case.assert_equal("mass", masses.to_dense())
    case.assert_equal("pl", masses.contour)
    case.assert_equal("bel", masses.singleton_belief)
    case.assert_equal("prob", evidence.probabilities)
    case.assert_equal("conf", evidence.conflict)


def test_network_agrees_with_the_reference(reference):
    case = reference("calcm_nnet_glass")
    model = MLPClassifier((5,), activation="logistic", max_iter=1)
    labels = np.arange(len(case["inputs"])) % 4
    with pytest.warns(ConvergenceWarning):
        model.fit(case["inputs"], labels)
    model.coefs_ = [case["W1"][1:], case["W"][1:]]
    model.intercepts_ = [case["W1"][0], case["W"][0]]
    ours = EvidenceFromClassifier(model, prefit=True).fit(case["inputs"])
    masses = ours.predict_mass(case["inputs"])
    case.assert_equal("mass", masses.to_dense())
    case.assert_equal("conf", ours.conflict(case["inputs"]))
    case.assert_equal("pl", masses.contour)


# ---- properties ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def combine_explicitly(support, opposition):
    """Combine simple mass functions one after the other by Dempster's rule."""
    n_classes = len(support)
    parts = []
    for k in range(n_classes):
        rest = tuple(set(range(n_classes)) - {k})
        for members, weight in (((k,), support[k]), (rest, opposition[k])):
            family = FocalSets.from_sets(n_classes, [members, tuple(range(n_classes))])
            parts.append(MassFunctions([[-np.expm1(-weight), np.exp(-weight)]], family))
    return parts[0].combine(*parts[1:]), parts


def exact_contour(evidence):
    """Return the plausibilities of the classes without computing masses."""
    others = evidence.support.sum(axis=1, keepdims=True) - evidence.support
    return np.exp(-evidence.opposition - others - evidence._log_agreement[:, None])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_closed_form_equals_the_explicit_combination(n_classes):
    rng = np.random.default_rng(n_classes)
    evidence = WeightsOfEvidence(
        *rng.exponential(size=(2, 12, n_classes))
        * (rng.random((2, 12, n_classes)) < 0.7)
    )
    family = evidence_family("full", n_classes)
    ours = MassFunctions(evidence.masses(family), family)
    for i in range(12):
        combined, parts = combine_explicitly(
            evidence.support[i], evidence.opposition[i]
        )
        np.testing.assert_allclose(ours[i].to_dense(), combined.to_dense(), atol=1e-13)
        conflict = parts[0].combine(*parts[1:], rule="conjunctive").empty
        np.testing.assert_allclose(evidence.conflict[i], conflict, atol=1e-13)
    np.testing.assert_allclose(exact_contour(evidence), ours.contour, atol=1e-13)
    np.testing.assert_allclose(
        evidence.probabilities, ours.plausibility_transform(), atol=1e-13
    )


def test_extreme_weights():
    weights = np.array(
        [
            [0.0, 0, 0],
            [1e4, 0, 0],
            [0, 1e4, 1e4],
            [1e4, 1e4, 0],
            [1e-300, 1e-12, 0],
            [800, 799, 798],
        ]
    )
    for opposition in (
        np.zeros((6, 3)),
        weights,
        weights[:, ::-1],
        np.full((6, 3), 1e4),
    ):
        evidence = WeightsOfEvidence(weights, opposition)
        masses = evidence.masses(evidence_family("full", 3))
        assert np.isfinite(masses).all()
        np.testing.assert_allclose(masses.sum(axis=1), 1)
        assert np.isfinite(exact_contour(evidence)).all()
        assert ((evidence.conflict >= 0) & (evidence.conflict <= 1)).all()
    assert (
        WeightsOfEvidence(weights[:1], weights[:1]).masses(evidence_family("full", 3))[
            0, -1
        ]
        == 1
    )


def test_weights_are_the_least_informative(iris):
    X, y = iris
    model = EvidenceFromClassifier(LogisticRegression(max_iter=2000)).fit(X, y)
    weights = model.weights_of_evidence(X)
    scores = X @ model.estimator_.coef_.T + model.estimator_.intercept_
    np.testing.assert_allclose(
        softmax(weights.sum(axis=1), axis=1), softmax(scores, axis=1), atol=1e-12
    )
    size = (weights**2).sum()
    rng = np.random.default_rng(0)
    for _ in range(20):  # Changes of the offsets with the same sums.
        change = rng.normal(size=model.offsets_.shape)
        change -= change.mean(axis=0)
        assert ((weights + 0.01 * change) ** 2).sum() > size


CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=2000),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "discriminant": LinearDiscriminantAnalysis(),
    **{
        activation: MLPClassifier(
            (8, 4), activation=activation, solver="lbfgs", max_iter=60, random_state=0
        )
        for activation in ("relu", "tanh", "logistic", "identity")
    },
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_normalized_plausibilities_are_the_probabilities(iris, name, classes):
    X = iris[0][50 * (3 - classes) :]
    y = iris[1][50 * (3 - classes) :]
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    model = EvidenceFromClassifier(CLASSIFIERS[name]).fit(X[::2], labels[::2])
    theirs = model.estimator_.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), theirs, atol=1e-12)
    masses = model.predict_mass(X)
    np.testing.assert_allclose(masses.plausibility_transform(), theirs, atol=1e-10)
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    assert masses.frame == tuple(np.unique(labels))
    assert model.predict(X).tolist() == model.estimator_.predict(X).tolist()


def test_many_classes():
    X, y = make_blobs(600, centers=15, n_features=4, random_state=0)
    model = EvidenceFromClassifier(LogisticRegression(max_iter=500)).fit(X, y)
    masses = model.predict_mass(X)
    assert len(masses.focal_sets) == 16
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    np.testing.assert_allclose(
        model.predict_proba(X), model.estimator_.predict_proba(X), atol=1e-12
    )
    # The mass on the frame increases all plausibilities.
    exact = exact_contour(model._evidence(model._features(X)))
    assert (masses.contour >= exact - 1e-9).all()
    with pytest.raises(InvalidInputError, match=r"^focal_sets\b"):
        EvidenceFromClassifier(LogisticRegression(max_iter=500), focal_sets="full").fit(
            X, y
        )


def test_simple_focal_sets(iris):
    X, y = iris
    full, simple = (
        EvidenceFromClassifier(LogisticRegression(max_iter=2000), focal_sets=f)
        for f in ("full", "simple")
    )
    a = full.fit(X, y).predict_mass(X)
    b = simple.fit(X, y).predict_mass(X)
    np.testing.assert_allclose(a.singleton_belief, b.singleton_belief, atol=1e-12)
    assert (a.masses[:, -1] <= b.masses[:, -1] + 1e-12).all()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("columns", [["c", "b", "a", "d"], ["a"]])
def test_prefit_models_need_the_same_columns(iris, columns):
    X = pd.DataFrame(iris[0], columns=list("abcd"))
    y = iris[1]
    fitted = LogisticRegression(max_iter=1000).fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        EvidenceFromClassifier(fitted, prefit=True).fit(X[columns])
    EvidenceFromClassifier(fitted, prefit=True).fit(X.to_numpy())
    # A pipeline selects its columns by name.
    by_name = make_column_transformer((StandardScaler(), ["b", "d"]))
    fitted = make_pipeline(by_name, LogisticRegression()).fit(X, y)
    model = EvidenceFromClassifier(fitted, prefit=True).fit(X[["d", "c", "b", "a"]])
    np.testing.assert_allclose(
        model.predict_proba(X[["d", "c", "b", "a"]]), fitted.predict_proba(X)
    )


def test_prefit_models_are_not_fitted_again(iris):
    X, y = iris
    fitted = LogisticRegression(max_iter=2000).fit(X, y)
    coefficients = fitted.coef_.copy()
    model = EvidenceFromClassifier(fitted, prefit=True).fit(X[::3])
    assert model.estimator_ is fitted
    np.testing.assert_array_equal(fitted.coef_, coefficients)
    np.testing.assert_allclose(model.feature_means_, X[::3].mean(axis=0))


def test_soft_labels_are_refused(iris):
    X, y = iris
    soft = MassFunctions(
        0.9 * np.eye(3, 4)[y] + [0, 0, 0, 0.1], FocalSets.simple(3, empty=False)
    )
    with pytest.raises(InvalidInputError, match=r"^y must contain classes, got soft"):
        EvidenceFromClassifier().fit(X, soft)


# ---- torch ---------------------------------------------------------------------------------------


def network(torch, outputs, last=()):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6),
        torch.nn.Tanh(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(6, outputs),
        *last,
    )


def test_torch_networks(iris):
    torch = pytest.importorskip("torch")
    X, y = iris
    names = np.array(["a", "b", "c"])[y]
    net = network(torch, 3)
    model = EvidenceFromClassifier(net, prefit=True).fit(X, names)
    assert net.training
    net.eval()
    theirs = (
        torch.softmax(net(torch.tensor(X, dtype=torch.float32)), dim=1).detach().numpy()
    )
    np.testing.assert_allclose(model.predict_proba(X), theirs, atol=1e-6)
    np.testing.assert_allclose(
        model.predict_mass(X).plausibility_transform(), theirs, atol=1e-6
    )
    assert model.predict_mass(X).frame == ("a", "b", "c")
    for last in (torch.nn.Softmax(dim=1), torch.nn.LogSoftmax(dim=1)):
        with_end = EvidenceFromClassifier(network(torch, 3, [last]), prefit=True).fit(X)
        np.testing.assert_allclose(with_end.predict_proba(X), theirs, atol=1e-6)
        assert with_end.classes_.tolist() == [0, 1, 2]


def test_torch_network_with_one_output(iris):
    torch = pytest.importorskip("torch")
    X = iris[0][:100]
    y = iris[1][:100]
    net = network(torch, 1, [torch.nn.Sigmoid()])
    model = EvidenceFromClassifier(net, prefit=True).fit(X, y)
    positive = net.eval()(torch.tensor(X, dtype=torch.float32)).detach().numpy().ravel()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], positive, atol=1e-6)


def test_torch_network_of_images():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32, 3),
    )
    X = np.random.default_rng(0).normal(size=(10, 1, 6, 6)).astype(np.float32)
    masses = EvidenceFromClassifier(net, prefit=True).fit(X).predict_mass(X)
    theirs = torch.softmax(net(torch.tensor(X)), dim=1).detach().numpy()
    np.testing.assert_allclose(masses.plausibility_transform(), theirs, atol=1e-5)


def test_invalid_networks(iris):
    torch = pytest.importorskip("torch")
    X, y = iris
    with pytest.raises(InvalidInputError, match=r"^prefit\b"):
        EvidenceFromClassifier(network(torch, 3)).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        EvidenceFromClassifier(network(torch, 5), prefit=True).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"^estimator\b"):
        EvidenceFromClassifier(network(torch, 3, [torch.nn.ReLU()]), prefit=True).fit(
            X, y
        )
    with pytest.raises(InvalidInputError, match=r"^estimator\b"):
        EvidenceFromClassifier(torch.nn.Sequential(torch.nn.ReLU()), prefit=True).fit(
            X, y
        )


# ---- scikit-learn and pandas, invalid input ------------------------------------------------------


def test_pipelines_receive_tables(iris):
    X, y = iris
    table = pd.DataFrame(X, columns=list("abcd"), index=np.arange(len(X)) + 1000)
    table["colour"] = np.where(X[:, 0] > 5.5, "red", "blue")
    columns = make_column_transformer(
        (StandardScaler(), ["a", "c"]), (OneHotEncoder(), ["colour"])
    )
    model = EvidenceFromClassifier(make_pipeline(columns, LogisticRegression())).fit(
        table, y
    )
    masses = model.predict_mass(table.iloc[:7])
    assert list(masses.index) == list(range(1000, 1007))
    np.testing.assert_allclose(
        model.predict_proba(table), model.estimator_.predict_proba(table), atol=1e-12
    )


def test_searches_and_cross_validation(iris):
    X, y = iris
    model = EvidenceFromClassifier(
        make_pipeline(StandardScaler(), LogisticRegression())
    )
    assert cross_val_score(model, X, y).mean() > 0.93
    search = GridSearchCV(model, {"estimator__logisticregression__C": [0.01, 1.0]}).fit(
        X, y
    )
    assert search.best_params_ == {"estimator__logisticregression__C": 1.0}


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (EvidenceFromClassifier(GaussianNB()), TypeError, r"^estimator\b"),
        (EvidenceFromClassifier(prefit=True), ValueError, r"^estimator\b"),
        (EvidenceFromClassifier(focal_sets="pairs"), ValueError, r"^focal_sets\b"),
        (
            EvidenceFromClassifier(OneVsRestClassifier(LogisticRegression())),
            TypeError,
            r"^estimator\b",
        ),
    ],
    ids=["naive Bayes", "nothing fitted", "focal sets", "one versus rest"],
)
def test_invalid_classifiers(iris, model, error, message):
    with pytest.raises(error, match=message):
        model.fit(*iris)


@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.parametrize(
    "estimator",
    [
        np.eye(2),
        "LogisticRegression",
        LogisticRegression,
        0.5,
        list(range(100)),
        load_iris,
    ],
)
def test_invalid_estimators(iris, estimator, prefit):
    model = EvidenceFromClassifier(estimator, prefit=prefit)
    with pytest.raises(InvalidInputError, match="^estimator must be"):
        model.fit(*iris)
    assert not hasattr(model, "classes_")


def test_probabilities_must_be_a_softmax(iris):
    class OneVersusRest(LogisticRegression):
        def predict_proba(self, X):
            each = 1 / (1 + np.exp(-self.decision_function(X)))
            return each / each.sum(axis=1, keepdims=True)

    with pytest.raises(TypeError, match="^estimator must be"):
        EvidenceFromClassifier(OneVersusRest(max_iter=2000)).fit(*iris)
