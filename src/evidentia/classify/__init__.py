"""Evidential classification: classifiers that answer with mass functions on the classes, and how far to trust them."""

from evidentia.classify.discounting import ContextualDiscounting
from evidentia.classify.eknn import EKNNClassifier
from evidentia.classify.evidence import EvidenceFromClassifier
from evidentia.classify.neural_network import EvidentialNeuralNetworkClassifier
from evidentia.classify.rbf import EvidentialRBFClassifier

__all__ = [
    "EKNNClassifier",
    "EvidenceFromClassifier",
    "EvidentialNeuralNetworkClassifier",
    "EvidentialRBFClassifier",
    "ContextualDiscounting",
]
