"""Evidential classifiers, which predict mass functions on classes, and contextual discounting."""

from dempster.classify.conformal import ConformalClassifier
from dempster.classify.discounting import ContextualDiscounting
from dempster.classify.eknn import EKNNClassifier
from dempster.classify.evidence import EvidenceFromClassifier
from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
from dempster.classify.rbf import EvidentialRBFClassifier
from dempster.classify.soft_labels import SoftLabelClassifier

__all__ = [
    "EKNNClassifier",
    "EvidenceFromClassifier",
    "EvidentialNeuralNetworkClassifier",
    "EvidentialRBFClassifier",
    "SoftLabelClassifier",
    "ConformalClassifier",
    "ContextualDiscounting",
]
