"""Where the documentation is, and the page of an estimator in it."""

from __future__ import annotations

ADDRESS = "https://dempster.readthedocs.io/en/stable"


class DocumentedEstimator:
    """A public estimator: its picture in a notebook links to its page, as scikit-learn's do to theirs."""

    _doc_link_module = "dempster"
    _doc_link_template = ADDRESS + "/api/generated/{package}.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """The package that hands the estimator on, and its name."""
        return {"package": ".".join(type(self).__module__.split(".")[:2]), "name": type(self).__name__}
