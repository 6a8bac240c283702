"""Base class of mixtures, which implements the selection by BIC and the prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction, warn_not_converged
from dempster._random import as_random_state
from dempster._site import DocumentedEstimator
from dempster.mixture.em import EMResult, normalize

AUTO_COMPONENTS = range(1, 10)
# Relative differences of BIC below this value are considered rounding errors.
_TIE = 1e-9


def several(test: Any) -> Any:
    """Return a function that tests whether all items of a nonempty collection pass ``test``."""

    def passes(value: Any) -> bool:
        if isinstance(value, str | Iterator):
            return False
        try:
            items = list(value)
        except Exception:  # The value is not iterable.
            return False
        return len(items) > 0 and all(map(test, items))

    return passes


MIXTURE_RULES: Mapping[str, rule.Rule] = {
    "n_components": rule.auto
    | rule.positive_integer
    | rule.Rule("several of these", several(rule.positive_integer.test)),
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations,
    "tol": rule.nonnegative,
    "random_state": rule.seed,
}


class Mixture(DensityMixin, DocumentedEstimator, BaseEstimator):
    """Base class of mixtures.

    A subclass defines the constructor, the rules that validate its parameters (`_rules`), the
    estimation (`_estimate`), the logarithms of proportion times density (`_log_joint`), and random
    objects (`_draw`).
    """

    _rules: Mapping[str, rule.Rule]
    n_components: Any
    n_components_: int
    n_features_in_: int
    weights_: Annotated[np.ndarray, "g"]
    n_parameters_: int
    labels_: Annotated[np.ndarray, "n_samples"]
    random_state: Any
    _advice: str  # what to do if no model can be fitted

    def _estimate(self, X: Any, sample_weight: Any) -> None:
        """Validate the arguments of `fit` and set all fitted attributes."""
        raise NotImplementedError

    def _log_joint(self, X: Any) -> np.ndarray:
        """Validate X and return log(proportion * density) of each component, shape (n, g)."""
        raise NotImplementedError

    def _draw(self, components: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Draw an object from each of the given components."""
        raise NotImplementedError

    # ---- fitting ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the mixture, and select the number of components and the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the objects. An object of weight 2 counts as two objects; an object of weight
            0 is ignored.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._estimate(X, sample_weight)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Estimate the mixture and return the most probable component of each training object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the objects; see `fit`.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def _requested_numbers(self) -> list[int]:
        """Return the requested numbers of components in increasing order."""
        if isinstance(self.n_components, str):
            return list(AUTO_COMPONENTS)
        if isinstance(self.n_components, Integral):
            return [int(self.n_components)]
        return sorted({int(g) for g in self.n_components})

    def _possible_numbers(self, numbers: list[int], n_different: int) -> list[int]:
        """Return the numbers of components, for "auto" at most the number of different objects.

        Raise an error if all requested numbers are larger.
        """
        if isinstance(self.n_components, str):
            return [g for g in numbers if g <= n_different]
        if numbers[0] > n_different:
            raise InvalidParameterError(
                "n_components", f"at most {n_different} (different objects)", numbers[0]
            )
        return numbers

    def _select_model(
        self,
        results: Mapping[tuple[int, str], EMResult],
        total: float,
        count_parameters: Callable[[int, str], int],
    ) -> EMResult:
        """Select a fit by BIC, set the common attributes, and return the fit.

        The fits are sorted, the simplest first.
        """
        import pandas as pd

        rows = []
        best = None
        for (g, model), run in results.items():
            count = count_parameters(g, model)
            row = {
                "n_components": g,
                "model": model,
                "bic": 2 * run.log_likelihood - count * np.log(total),
                "log_likelihood": run.log_likelihood,
                "n_parameters": count,
                "n_iter": len(run.history),
                "converged": run.converged,
                "problem": run.problem or "",
            }
            rows.append(row)
            # If several criteria are equal up to rounding, the simplest model is selected.
            if run.problem is None and (
                best is None or row["bic"] > best["bic"] + _TIE * abs(best["bic"])
            ):
                best = row
        table = pd.DataFrame(rows).set_index(["n_components", "model"])
        if best is None:
            first = rows[0]
            raise InvalidInputError(
                f"model {first['model']!r} with {first['n_components']} components cannot be "
                f"fitted to {total:g} objects: {first['problem']}; {self._advice}"
            )
        run = results[best["n_components"], best["model"]]
        self.bic_table_ = table
        self.n_components_ = best["n_components"]
        self.model_ = best["model"]
        self.bic_ = float(best["bic"])
        self.parameters_ = run.parameters
        self.log_likelihood_ = run.log_likelihood
        self.weights_ = run.parameters.proportions
        self.n_parameters_ = best["n_parameters"]
        self.history_ = run.history
        self.n_iter_ = len(run.history)
        self.converged_ = run.converged
        if not run.converged:
            warn_not_converged(self)
        return run

    # ---- prediction ------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable component of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._log_joint(X).argmax(axis=1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior probabilities of the components.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        array of shape (n_samples, n_components)
        """
        return normalize(self._log_joint(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density of each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        array of shape (n_samples,)
        """
        joint = self._log_joint(X)
        top = joint.max(axis=1)
        return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion of X. Smaller is better.

        The criterion is -2 log-likelihood + (number of parameters) log n, like in scikit-learn. The
        attributes ``bic_`` and ``bic_table_`` have the sign of mclust: for the (unweighted)
        training objects, ``bic(X)`` is equal to ``-bic_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        float
        """
        densities = self.score_samples(X)
        penalty = self.n_parameters_ * np.log(len(densities))
        return float(penalty - 2 * densities.sum())

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion of X. Smaller is better.

        The criterion is -2 log-likelihood + 2 (number of parameters), like in scikit-learn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        float
        """
        return float(2 * self.n_parameters_ - 2 * self.score_samples(X).sum())

    def sample(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw objects from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
            Number of objects.
        random_state : int, RandomState, Generator or None
            Seed. None uses the parameter ``random_state`` of the mixture.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Objects, sorted by component.
        components : ndarray of shape (n_samples,)
            Component of each object.
        """
        check_is_fitted(self, "parameters_")
        rule.check(n_samples, "n_samples", rule.positive_integer)
        rule.check_memory(
            24 * n_samples * (self.n_features_in_ + 1),
            f"n_samples={n_samples:,}",
            "draw fewer",
        )
        seed = self.random_state if random_state is None else random_state
        rng = as_random_state(seed)
        shares = self.weights_ / self.weights_.sum()
        components = np.sort(rng.choice(self.n_components_, n_samples, p=shares))
        return self._draw(components, rng), components
