"""Links from estimators to their documentation pages."""

from __future__ import annotations

ADDRESS = "https://OWNER.github.io/dempster/stable"


class DocumentedEstimator:
    """Mixin that links the HTML representation of an estimator to its documentation page."""

    _doc_link_module = "dempster"
    _doc_link_template = ADDRESS + "/api/generated/{package}.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {
            "package": ".".join(type(self).__module__.split(".")[:2]),
            "name": type(self).__name__,
        }
