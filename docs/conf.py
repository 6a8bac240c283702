"""Configuration of the site: Sphinx, pages in Markdown, docstrings in numpydoc format.

The extensions in `_ext` belong to this project: `pages` runs the code of the pages, `figures` draws the figures,
`gallery` runs the examples, `api` writes a page for every public name, and `docstrings` converts plain-text docstrings
to markup. With ``-D quick=1`` figures and examples are skipped; code and links are still checked.

The pydata theme is wide enough for our tables, has the navigation bar that users of NumPy, SciPy and pandas are used
to, and supports light, dark and narrow layouts. MathJax is copied from a wheel, so that nothing is downloaded.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))

import dempster  # noqa: E402

project = "dempster"
author = "The dempster developers"
copyright = author
version = release = dempster.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "pages",
    "figures",
    "gallery",
    "api",
    "docstrings",
]
exclude_patterns = ["_build", "README.md", "releasing.md", "methods/template.md"]
root_doc = "index"
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

mathjax_path = "mathjax/tex-chtml.js"

autodoc_typehints = "none"
autosummary_generate = False  # `api` writes the pages
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False


# Pages with wide tables use the full width.
WIDE_PAGES = ("index", "which_method", "reproduction", "coming_from_r", "benchmarks", "benchmarks_defaults")
html_theme = "pydata_sphinx_theme"
html_title = "dempster"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "dempster"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": {
        **{page: [] for page in WIDE_PAGES},
        "**": ["page-toc"],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "glossary": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.printed) > div.highlight > pre"


def copy_mathjax(app, error):
    """Copy the parts of MathJax that the pages need from its wheel."""
    source = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    if error is None and app.builder.format == "html" and not target.exists():
        for folder in ("output/chtml/fonts", "input/tex/extensions", "a11y", "ui"):
            shutil.copytree(source / folder, target / folder)
        shutil.copy(source / "tex-chtml.js", target)


def setup(app):
    app.connect("build-finished", copy_mathjax)
