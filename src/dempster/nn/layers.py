"""Evidential layer, contextual discounting and fusion as torch modules."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dempster._errors import InvalidParameterError
from dempster._validation import check, integer
from dempster.belief import FocalSets, MassFunctions

# Above this value softplus(x) is x in double precision.
_SOFTPLUS_THRESHOLD = 40.0
_MIN_RATE = 1e-7  # Its logit is finite.


class EvidentialLayer(nn.Module):
    r"""Layer that maps feature vectors to mass functions on classes.

    Each of K prototypes is a piece of evidence about the class, as in
    `~dempster.classify.EvidentialNeuralNetworkClassifier`. Prototype p_i with reliability alpha_i,
    scale gamma_i and memberships u_ik assigns the mass u_ik s_i to each class k, and the remaining
    mass 1 - s_i to the frame Ω, where :math:`s_i = \alpha_i \exp(-\gamma_i \|x - p_i\|^2)`.
    Dempster's rule combines the evidence. With the *weights of evidence*

    .. math::

        w_k = \sum_i \log\Bigl(1 + u_{ik} \frac{s_i}{1 - s_i}\Bigr),

    the combined masses are :math:`m(\{k\}) \propto e^{w_k} - 1` and :math:`m(\Omega) \propto 1`,
    and the plausibilities of the classes are proportional to :math:`e^{w_k}`. The layer evaluates
    this formula for all prototypes at once. Far from all prototypes the result is vacuous:
    m(Ω) = 1.

    Parameters
    ----------
    in_features : int
        Number of features.
    n_classes : int
        Number of classes.
    n_prototypes : int
        Number of prototypes K.
    dim : int, default=-1
        Dimension of the features in the input, and of the masses in the output; 1 for images of
        shape (N, C, H, W), whose pixels are classified.

    Attributes
    ----------
    prototypes : Parameter of shape (n_prototypes, in_features)
        Prototypes, initially drawn from a standard normal distribution.
    reliability_logits : Parameter of shape (n_prototypes,)
        Logits of the reliabilities alpha_i.
    log_gamma : Parameter of shape (n_prototypes,)
        Logarithms of the scales gamma_i.
    membership_logits : Parameter of shape (n_prototypes, n_classes)
        Logits of the memberships u_ik, whose softmax they are.

    Notes
    -----
    The initial prototypes suit features of mean 0 and variance 1, such as the output of
    `torch.nn.BatchNorm1d` or `torch.nn.LayerNorm`. `from_classifier` starts from prototypes that
    were fitted to features.

    The masses are computed at least in float32, also if the layer is in bfloat16 or in a region of
    automatic mixed precision. In the latter they are returned in float32.

    References
    ----------
    T. Denoeux (2000). A neural network classifier based on Dempster-Shafer theory. IEEE Trans. SMC
    A 30.

    Z. Tong, P. Xu and T. Denoeux (2021). An evidential classifier based on Dempster-Shafer theory
    and deep learning. Neurocomputing 450.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import EvidentialLayer
    >>> _ = torch.manual_seed(0)
    >>> layer = EvidentialLayer(in_features=5, n_classes=3, n_prototypes=6)
    >>> masses = layer(torch.randn(7, 5))  # three classes and the frame
    >>> masses.shape
    torch.Size([7, 4])
    >>> layer(torch.full((5,), 100.0)).detach()  # far from all prototypes
    tensor([0., 0., 0., 1.])

    The pixels of images, and a network that ends with the layer:

    >>> pixels = EvidentialLayer(16, 3, n_prototypes=6, dim=1)
    >>> pixels(torch.randn(2, 16, 32, 32)).shape
    torch.Size([2, 4, 32, 32])
    >>> network = torch.nn.Sequential(
    ...     torch.nn.Linear(8, 5), torch.nn.BatchNorm1d(5), EvidentialLayer(5, 3, n_prototypes=6)
    ... )
    """

    def __init__(
        self, in_features: int, n_classes: int, n_prototypes: int, *, dim: int = -1
    ):
        super().__init__()
        check(in_features, "in_features", integer(1))
        check(n_classes, "n_classes", integer(2))
        check(n_prototypes, "n_prototypes", integer(1))
        self.in_features = in_features
        self.n_classes = n_classes
        self.n_prototypes = n_prototypes
        self.dim = dim
        self.prototypes = nn.Parameter(torch.empty(n_prototypes, in_features))
        self.reliability_logits = nn.Parameter(torch.empty(n_prototypes))
        self.log_gamma = nn.Parameter(torch.empty(n_prototypes))
        self.membership_logits = nn.Parameter(torch.empty(n_prototypes, n_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial prototypes, which belong to the classes in turn.

        The scale is such that the mass of a prototype decreases by the factor 1/e at the expected
        squared distance 2 ``in_features`` of two standard normal vectors.
        """
        nn.init.normal_(self.prototypes)
        nn.init.zeros_(self.reliability_logits)
        nn.init.constant_(self.log_gamma, -math.log(2 * self.in_features))
        classes = torch.arange(self.n_prototypes) % self.n_classes
        with torch.no_grad():
            self.membership_logits.copy_(2.0 * F.one_hot(classes, self.n_classes))

    @classmethod
    def from_classifier(cls, classifier: Any, *, dim: int = -1) -> Self:
        """Create a layer with the parameters of a fitted classifier.

        The classifier may have been fitted to the features that a network computes, and training
        of the network and the layer continues from there.

        Parameters
        ----------
        classifier : EvidentialNeuralNetworkClassifier
            Fitted classifier.
        dim : int, default=-1
            Dimension of the features in the input.

        Returns
        -------
        EvidentialLayer
            Layer in double precision with the same masses as ``classifier.predict_mass``.

        Examples
        --------
        >>> import torch
        >>> from dempster.classify import EvidentialNeuralNetworkClassifier
        >>> from dempster.datasets import load_iris
        >>> from dempster.nn import EvidentialLayer
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = EvidentialNeuralNetworkClassifier(6, random_state=0).fit(X, y)
        >>> layer = EvidentialLayer.from_classifier(classifier)
        >>> masses = layer(torch.tensor(X))
        >>> expected = torch.tensor(classifier.predict_mass(X).masses)
        >>> torch.allclose(masses, expected, atol=1e-6)
        True
        """
        prototypes = torch.tensor(classifier.prototypes_)
        memberships = torch.tensor(classifier.memberships_)
        n_prototypes, in_features = prototypes.shape
        layer = cls(in_features, memberships.shape[1], n_prototypes, dim=dim).double()
        tiny = torch.finfo(torch.double).tiny
        scales = torch.tensor(classifier.gamma_) ** 2 / 2
        parameters = {
            "prototypes": prototypes,
            "reliability_logits": torch.tensor(classifier.reliabilities_).logit(),
            "log_gamma": scales.clamp(min=tiny).log(),
            "membership_logits": memberships.clamp(min=tiny).log(),
        }
        layer.load_state_dict(parameters)
        return layer

    @property
    def reliabilities(self) -> Tensor:
        """Reliability alpha_i of each prototype, shape (n_prototypes,)."""
        return self.reliability_logits.sigmoid()

    @property
    def gamma(self) -> Tensor:
        """Scale gamma_i of each prototype, shape (n_prototypes,)."""
        return self.log_gamma.exp()

    @property
    def memberships(self) -> Tensor:
        """Memberships u_ik of the prototypes to the classes, shape (n_prototypes, n_classes)."""
        return self.membership_logits.softmax(dim=-1)

    def weights_of_evidence(self, x: Tensor) -> Tensor:
        """Return the weights of evidence w_k for the classes.

        The softmax of the weights is the normalized plausibility. The weights therefore are the
        logits of `torch.nn.functional.cross_entropy`, which does not underflow if the network is
        very sure.

        Parameters
        ----------
        x : Tensor
            Features, of size ``in_features`` in dimension ``dim``.

        Returns
        -------
        Tensor
            Nonnegative weights, of size ``n_classes`` in dimension ``dim``.

        Examples
        --------
        >>> import torch
        >>> from dempster.nn import EvidentialLayer
        >>> layer = EvidentialLayer(5, 3, n_prototypes=6)
        >>> x, y = torch.randn(7, 5), torch.randint(3, (7,))
        >>> loss = torch.nn.functional.cross_entropy(layer.weights_of_evidence(x), y)
        """
        return self._to_output(self._weights(x), x)

    def _weights(self, x: Tensor) -> Tensor:
        """Return the weights in the last dimension, at least in float32."""
        rows = x.movedim(self.dim, -1)
        if rows.shape[-1] != self.in_features:
            raise InvalidParameterError(
                "x",
                f"a tensor of size {self.in_features} in dimension {self.dim}",
                tuple(x.shape),
            )
        precision = torch.promote_types(self._output_type(x), torch.float32)
        reliability_logits = self.reliability_logits.to(precision)
        # In a matrix product of half precision, the differences of near points would be lost.
        with torch.autocast(x.device.type, enabled=False):
            distances = _squared_distances(
                rows.to(precision), self.prototypes.to(precision)
            )
        # minus the logarithm of s_i
        minus_log_s = (
            F.softplus(-reliability_logits, threshold=_SOFTPLUS_THRESHOLD)
            + self.log_gamma.to(precision).exp() * distances
        ).clamp(min=torch.finfo(precision).tiny)
        # log(s / (1 - s)) = -log(exp(minus_log_s) - 1), without overflow
        log_odds = -minus_log_s - _one_minus_exp(minus_log_s).log()
        log_memberships = self.membership_logits.to(precision).log_softmax(dim=-1)
        terms = F.softplus(
            log_odds[..., None] + log_memberships, threshold=_SOFTPLUS_THRESHOLD
        )
        return terms.sum(dim=-2)

    def _output_type(self, x: Tensor) -> torch.dtype:
        return torch.promote_types(x.dtype, self.prototypes.dtype)

    def _to_output(self, values: Tensor, x: Tensor) -> Tensor:
        return values.to(self._output_type(x)).movedim(-1, self.dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return the masses of the classes and of the frame.

        Parameters
        ----------
        x : Tensor
            Features, of size ``in_features`` in dimension ``dim``.

        Returns
        -------
        Tensor
            Masses, of size ``n_classes + 1`` in dimension ``dim``. The last one is the mass of the
            frame.
        """
        weights = self._weights(x)
        # The masses are proportional to exp(w_k) - 1 and 1. A common factor prevents overflow, and
        # their sum is then at least 1.
        largest = weights.detach().amax(dim=-1, keepdim=True)
        singles = _one_minus_exp(weights) * torch.exp(weights - largest)
        unnormalized = torch.cat([singles, torch.exp(-largest)], dim=-1)
        return self._to_output(unnormalized / unnormalized.sum(dim=-1, keepdim=True), x)

    def extra_repr(self) -> str:
        """Return the sizes, which the representation of a network shows.

        Returns
        -------
        str
        """
        return (
            f"{self.in_features}, {self.n_classes}, "
            f"n_prototypes={self.n_prototypes}, dim={self.dim}"
        )


class ContextualDiscounting(nn.Module):
    r"""Contextual discounting of the plausibilities of classes, with learned discount rates.

    A source of information may be more reliable for some classes than for others. With the
    discount rate :math:`\beta_k` of class k, the plausibility :math:`pl_k` becomes

    .. math::

        pl'_k = \beta_k + (1 - \beta_k)\, pl_k.

    A class with the rate 1 is always plausible, whatever the source says. The rates are trained
    with the network; `dempster.classify.ContextualDiscounting` learns them from mass functions.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    rate : float, or sequence of n_classes float, default=0.5
        Initial discount rates in [0, 1].
    dim : int, default=-1
        Dimension of the classes.

    Attributes
    ----------
    rate_logits : Parameter of shape (n_classes,)
        Logits of the discount rates.

    References
    ----------
    L. Huang, S. Ruan, P. Decazes and T. Denoeux (2025). Deep evidential fusion with uncertainty
    quantification and reliability learning for multimodal medical image segmentation. Information
    Fusion 113.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import ContextualDiscounting
    >>> discounting = ContextualDiscounting(3, rate=[0.1, 0.2, 0.3])
    >>> discounting(torch.tensor([0.9, 0.5, 0.2])).detach()
    tensor([0.9100, 0.6000, 0.4400])
    """

    def __init__(
        self, n_classes: int, rate: float | Sequence[float] = 0.5, *, dim: int = -1
    ):
        super().__init__()
        check(n_classes, "n_classes", integer(2))
        rates = torch.as_tensor(rate, dtype=torch.get_default_dtype())
        if (
            rates.shape not in ((), (n_classes,))
            or not ((rates >= 0) & (rates <= 1)).all()
        ):
            raise InvalidParameterError(
                "rate", f"one number or {n_classes} numbers in [0, 1]", rate
            )
        self.dim = dim
        self.rate_logits = nn.Parameter(rates.expand(n_classes).logit(eps=_MIN_RATE))

    @property
    def rates(self) -> Tensor:
        """Discount rate of each class, shape (n_classes,)."""
        return self.rate_logits.sigmoid()

    def forward(self, plausibilities: Tensor) -> Tensor:
        """Discount plausibilities.

        Parameters
        ----------
        plausibilities : Tensor
            Plausibilities of the classes in dimension ``dim``, for example of `contour`.

        Returns
        -------
        Tensor
            Discounted plausibilities of the same shape.
        """
        rates = self.rates
        rows = plausibilities.movedim(self.dim, -1)
        if rows.shape[-1] != len(rates):
            raise InvalidParameterError(
                "plausibilities",
                f"a tensor of size {len(rates)} in dimension {self.dim}; "
                "contour computes plausibilities from masses",
                tuple(plausibilities.shape),
            )
        return (rates + (1 - rates) * rows).movedim(-1, self.dim)


class Fusion(nn.Module):
    r"""Fusion of several sources of information, each with contextual discounting.

    The discounted plausibilities :math:`pl'_{jk}` of the sources j are combined by Dempster's rule:
    the plausibility of class k is proportional to :math:`\prod_j pl'_{jk}`. A missing source has no
    effect.

    Parameters
    ----------
    n_sources : int
        Number of sources.
    n_classes : int
        Number of classes.
    rate : float, default=0.5
        Initial discount rate of all sources and classes.
    dim : int, default=-1
        Dimension of the classes.

    Attributes
    ----------
    discounting : ModuleList of n_sources ContextualDiscounting
        Discounting of each source. Its ``rates`` tell how far the source is trusted for each class.

    References
    ----------
    L. Huang, S. Ruan, P. Decazes and T. Denoeux (2025). Deep evidential fusion with uncertainty
    quantification and reliability learning for multimodal medical image segmentation. Information
    Fusion 113.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import Fusion
    >>> first, second = torch.tensor([[0.9, 0.5, 0.2]]), torch.tensor([[0.3, 0.8, 0.4]])
    >>> fusion = Fusion(n_sources=2, n_classes=3)
    >>> fusion([first, second]).detach()
    tensor([[0.3606, 0.3942, 0.2453]])
    >>> fusion([None, second]).detach()  # The first source is missing.
    tensor([[0.2889, 0.4000, 0.3111]])

    A source that is missing for some of the objects has the plausibility 1 for all classes there:

    >>> present = torch.tensor([[False]])
    >>> fusion([torch.where(present, first, 1.0), second]).detach()
    tensor([[0.2889, 0.4000, 0.3111]])
    """

    def __init__(
        self, n_sources: int, n_classes: int, rate: float = 0.5, *, dim: int = -1
    ):
        super().__init__()
        check(n_sources, "n_sources", integer(1))
        self.dim = dim
        self.discounting = nn.ModuleList(
            ContextualDiscounting(n_classes, rate, dim=dim) for _ in range(n_sources)
        )

    def forward(self, sources: Sequence[Tensor | None]) -> Tensor:
        """Discount and combine the plausibilities of the sources.

        Parameters
        ----------
        sources : sequence of n_sources Tensor or None
            Plausibilities of the classes in dimension ``dim``, for example of `contour`, for each
            source; None if a source is missing. At least one source must be present.

        Returns
        -------
        Tensor
            Combined plausibilities, normalized to sum to 1 in dimension ``dim``.
        """
        if len(sources) != len(self.discounting):
            raise InvalidParameterError(
                "sources", f"{len(self.discounting)} tensors or None", len(sources)
            )
        logs = [
            safe_log(discounting(source))
            for discounting, source in zip(self.discounting, sources, strict=True)
            if source is not None
        ]
        if not logs:
            raise InvalidParameterError("sources", must="contain at least one tensor")
        return sum(logs[1:], logs[0]).softmax(dim=self.dim)


def contour(masses: Tensor, dim: int = -1) -> Tensor:
    """Return the plausibilities of the classes.

    Parameters
    ----------
    masses : Tensor
        Masses of the classes and, last, of the frame in dimension ``dim``.
    dim : int, default=-1
        Dimension of the masses.

    Returns
    -------
    Tensor
        Plausibilities, whose size in dimension ``dim`` is smaller by one.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import contour
    >>> contour(torch.tensor([0.6, 0.1, 0.0, 0.3]))
    tensor([0.9000, 0.4000, 0.3000])
    """
    n_classes = masses.shape[dim] - 1
    return masses.narrow(dim, 0, n_classes) + masses.narrow(dim, n_classes, 1)


def safe_log(values: Tensor) -> Tensor:
    """Return the logarithm, which is finite also at zero."""
    return values.clamp(min=torch.finfo(values.dtype).tiny).log()


def to_masses(
    masses: Tensor, dim: int = -1, *, frame: Sequence[Hashable] | None = None
) -> MassFunctions:
    """Convert the output of an `EvidentialLayer` to `MassFunctions`.

    Its methods make decisions, select sets of classes, and compute beliefs and plausibilities. The
    result consists of tensors on the same device; ``to_numpy()`` converts them to NumPy arrays.

    Parameters
    ----------
    masses : Tensor
        Masses of the classes and, last, of the frame in dimension ``dim``.
    dim : int, default=-1
        Dimension of the masses. The other dimensions, such as the pixels of images, are flattened
        to rows.
    frame : sequence of n_classes names, optional
        Names of the classes; 0, 1, ... by default.

    Returns
    -------
    MassFunctions
        One mass function for each row, without gradients and at least in float32.

    Examples
    --------
    >>> import torch
    >>> from dempster.nn import to_masses
    >>> masses = torch.tensor([[0.5, 0.4, 0.0, 0.1], [0.9, 0.0, 0.0, 0.1]])
    >>> to_masses(masses, frame=["cat", "dog", "fox"]).decide_sets(tolerance=0.8)
    tensor([[ True,  True, False],
            [ True, False, False]])
    """
    rows = masses.detach().movedim(dim, -1)
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    rows = rows.reshape(-1, rows.shape[-1])
    family = FocalSets.simple(rows.shape[-1] - 1, empty=False)
    return MassFunctions(rows / rows.sum(dim=-1, keepdim=True), family, frame=frame)


def _squared_distances(rows: Tensor, prototypes: Tensor) -> Tensor:
    """Return the squared distances of the rows from the prototypes, shape (..., n_prototypes)."""
    # The result does not depend on the origin. Near the data the products lose fewer digits.
    origin = prototypes.detach().mean(dim=0)
    rows = rows - origin
    prototypes = prototypes - origin
    squares = (rows**2).sum(dim=-1, keepdim=True) + (prototypes**2).sum(dim=-1)
    return (squares - 2 * rows @ prototypes.T).clamp(min=0)


def _one_minus_exp(values: Tensor) -> Tensor:
    """Return 1 - exp(-values) for nonnegative values; ONNX has no operator expm1."""
    half = torch.tanh(values / 2)
    return 2 * half / (1 + half)
