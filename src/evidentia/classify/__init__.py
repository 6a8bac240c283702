"""Evidential classification: classifiers that answer with mass functions on the classes."""

from evidentia.classify.eknn import EKNNClassifier
from evidentia.classify.evidence import EvidenceFromClassifier
from evidentia.classify.neural_network import EvidentialNeuralNetworkClassifier
from evidentia.classify.rbf import EvidentialRBFClassifier

__all__ = ["EKNNClassifier", "EvidenceFromClassifier", "EvidentialNeuralNetworkClassifier", "EvidentialRBFClassifier"]
