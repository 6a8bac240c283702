"""Configuration of the site: Sphinx, pages in Markdown, docstrings in numpydoc format.

The extensions in `_ext` belong to this project: `pages` runs the code of the pages, `figures` draws
the figures, `reproduction` splits the report on the papers, `api` writes a page for every public name, and `docstrings` converts plain-text docstrings to markup, and `browser` adds the page on which dempster runs in the browser. With
``-D quick=1`` figures and examples are skipped; code and links are still checked.

The pydata theme is wide enough for our tables, has the navigation bar that users of NumPy, SciPy
and pandas are used to, and supports light, dark and narrow layouts. MathJax is copied from a wheel.
The build needs no network; with a network, names of NumPy, SciPy, scikit-learn and pandas are links
to their documentation.
"""

import inspect
import os
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent / "src"))

import api  # noqa: E402
from numpydoc.xref import DEFAULT_LINKS  # noqa: E402

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
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "pages",
    "figures",
    "reproduction",
    "api",
    "docstrings",
    "browser",
]
exclude_patterns = [
    "_build",
    "README.md",
    "releasing.md",
    "methods/template.md",
]
root_doc = "index"
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

# The examples write files into their folder.
EXAMPLES = HERE / "_build" / "examples"
shutil.copytree(HERE.parent / "examples", EXAMPLES, dirs_exist_ok=True)
sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # run all examples
    "doc_module": "dempster",
    "backreferences_dir": "gallery/backreferences",
    "reset_modules": ("matplotlib",),
    "write_computation_times": False,
    "download_all_examples": False,
}

mathjax_path = "mathjax/tex-chtml.js"

autodoc_typehints = "none"
autosummary_generate = False  # `api` writes the pages
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Names of classes in types are links; numpydoc's own links need an inventory of Python.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {
    **{name: name for name in DEFAULT_LINKS},
    **{
        name: f"{package}.{name}"
        for name, package in reversed(api.public_names())
        if inspect.isclass(getattr(import_module(package), name))
    },
    "ndarray": "numpy.ndarray",
    "DataFrame": "pandas.DataFrame",
}

OTHER_LIBRARIES = {
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
}

# Pages with wide tables use the full width.
WIDE_PAGES = (
    "index",
    "which_method",
    "reproduction",
    "coming_from_r",
    "benchmarks",
    "benchmarks_conformal",
    "benchmarks_defaults",
    "benchmarks_choice",
    "benchmarks_posteriors",
    "benchmarks_questions",
    "benchmarks_scale",
)
html_theme = "pydata_sphinx_theme"
html_title = "dempster"
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "dempster"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "show_prev_next": True,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        # The last matching pattern counts.
        **{page: [] for page in WIDE_PAGES},
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
# A published site has a menu of the versions that tools/publish_docs.py lists.
if "DOCS_VERSION" in os.environ:
    html_theme_options |= {
        "navbar_end": ["version-switcher", "theme-switcher"],
        "switcher": {
            "json_url": "../switcher.json",
            "version_match": os.environ["DOCS_VERSION"],
        },
        "check_switcher": False,
    }
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": [], "glossary": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.printed) > div.highlight > pre"


def copy_mathjax(app, error):
    """Copy the parts of MathJax that the pages need from its wheel."""
    source = (
        Path(find_spec("sphinx-mathjax-offline").origin).parent
        / "static"
        / "mathjax"
    )
    target = Path(app.outdir) / "_static" / "mathjax"
    if error is None and app.builder.format == "html" and not target.exists():
        for folder in (
            "output/chtml/fonts",
            "input/tex/extensions",
            "a11y",
            "ui",
        ):
            shutil.copytree(source / folder, target / folder)
        shutil.copy(source / "tex-chtml.js", target)


def link_other_libraries(app, config):
    """Link names of other libraries whose inventory can be downloaded.

    Quick builds do not use the network.
    """
    if not int(config.quick):
        config.intersphinx_mapping = {
            name: (address, None)
            for name, address in OTHER_LIBRARIES.items()
            if is_reachable(address)
        }


def is_reachable(address):
    try:
        with urlopen(f"{address}objects.inv", timeout=5):
            return True
    except OSError:
        return False


def setup(app):
    app.connect("config-inited", link_other_libraries)
    app.connect("build-finished", copy_mathjax)
