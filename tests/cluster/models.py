"""Models with prototypes, made by hand."""

from dempster.cluster._mass_step import MassStep
from dempster.cluster.ecm import PrototypeModel


def one_thread(function, arguments):
    return [function(*each) for each in arguments]


def prototypes(family, centers, alpha, beta, delta, metrics=None):
    return PrototypeModel(
        MassStep(family, alpha, beta, delta**2, 0.0), centers, metrics
    )
