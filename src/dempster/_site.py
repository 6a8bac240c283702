"""Links from estimators to their documentation pages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata


@cache
def site_address() -> str:
    """Return the address of the site, which ``pyproject.toml`` declares.

    It is empty if dempster runs without being installed.
    """
    try:
        urls = metadata("dempster").get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    return dict(url.split(", ", 1) for url in urls).get("Documentation", "")


class DocumentedEstimator:
    """Mixin that links the HTML representation of an estimator to its documentation page."""

    _doc_link_module = "dempster"
    _doc_link_path = "/api/generated/{package}.{name}.html"

    @property
    def _doc_link_template(self) -> str:
        address = site_address()
        if not address:
            return ""
        return address + self._doc_link_path

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {
            "package": ".".join(type(self).__module__.split(".")[:2]),
            "name": type(self).__name__,
        }
