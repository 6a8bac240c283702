"""What files may hold of this package."""

from __future__ import annotations

from dempster._errors import InvalidInputError
from dempster.classify._eknn_soft import SoftLabels
from dempster.classify.discounting import ContextualDiscounting
from dempster.classify.eknn import EKNNClassifier
from dempster.classify.evidence import EvidenceFromClassifier
from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
from dempster.classify.rbf import EvidentialRBFClassifier
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


def _check_classes(model: EKNNClassifier) -> None:
    """The training objects have a label each, which is a position among the classes or a mass function."""
    codes, soft = model._codes, model._soft
    if soft is not None and len(soft.missing) != model._n_training:
        raise InvalidInputError(f"_soft must hold a label for each of the {model._n_training} training objects")
    if codes is None:
        return
    fits = codes.dtype.kind in "iu" and codes.shape == (model._n_training,)
    if not fits or codes.min() < 0 or codes.max() >= len(model.classes_):
        raise InvalidInputError("_codes must be the position of a class for each training object")


SAVED = (
    Schema.of(ContextualDiscounting),
    Schema.of_estimator(EKNNClassifier, _check_classes),
    Schema.of(EvidenceFromClassifier),
    Schema.of(EvidentialNeuralNetworkClassifier),
    Schema.of(EvidentialRBFClassifier),
    Schema.of_attributes(SoftLabels, "family", "missing", "_supersets"),
)
