"""What files may hold of this package."""

from evidentia.classify._eknn_soft import SoftLabels
from evidentia.classify.discounting import ContextualDiscounting
from evidentia.classify.eknn import EKNNClassifier
from evidentia.classify.evidence import EvidenceFromClassifier
from evidentia.classify.neural_network import EvidentialNeuralNetworkClassifier
from evidentia.classify.rbf import EvidentialRBFClassifier
from evidentia.io.schema import Schema

__all__ = ["SAVED"]

SAVED = (
    Schema.of(ContextualDiscounting),
    Schema.of(EKNNClassifier),
    Schema.of(EvidenceFromClassifier),
    Schema.of(EvidentialNeuralNetworkClassifier),
    Schema.of(EvidentialRBFClassifier),
    Schema.of_attributes(SoftLabels, "family", "missing", "_supersets"),
)
