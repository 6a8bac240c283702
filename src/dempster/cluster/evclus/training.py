"""How the network of NN-EVCLUS is trained."""

from __future__ import annotations

from dataclasses import dataclass

from dempster import _parameters as rule

__all__ = ["Training"]

_RULES = {
    "solver": rule.choice("auto", "lbfgs", "adaptive-steps", "mini-batch"),
    "batch_size": rule.integer(2),
    "learning_rate": rule.real(0, open_low=True),
    "early_stopping": rule.flag,
    "patience": rule.integer(1),
}


@dataclass(frozen=True)
class Training:
    """How the network of `NNEVCLUS` is trained.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "adaptive-steps", "mini-batch"}, default="auto"
        "lbfgs": limited-memory quasi-Newton steps on all pairs. "adaptive-steps": gradient descent on all pairs with a
        step of its own for each weight, the papers' method. "mini-batch": Adam on all pairs inside random batches, with
        a rate that falls to zero. "auto": L-BFGS up to 1,000 objects, mini-batches beyond.
    batch_size : int, default=512
        Objects of a batch.
    learning_rate : float > 0, default=0.005
        Of the mini-batches, at their beginning.
    early_stopping : bool, default=False
        Stop when held-out pairs get no better: a tenth of all pairs, which the training does not see. (Mini-batches
        keep the best of their epochs on such pairs even if they are not stopped.)
    patience : int, default=20
        Rounds (ten iterations of L-BFGS, one adaptive step, or one epoch) without improvement before stopping early.

    Examples
    --------
    >>> from dempster.cluster import Training
    >>> Training(solver="mini-batch", batch_size=128)
    Training(solver='mini-batch', batch_size=128, learning_rate=0.005, early_stopping=False, patience=20)
    """

    solver: str = "auto"
    batch_size: int = 512
    learning_rate: float = 0.005
    early_stopping: bool = False
    patience: int = 20

    def __post_init__(self) -> None:
        rule.check_parameters(self, _RULES)
