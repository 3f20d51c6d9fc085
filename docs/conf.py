"""How Sphinx builds the documentation: `make docs`.

Pages are Markdown, the reference is made of docstrings, the gallery of `examples/`. What is served
asks no other host for anything; `docs/check_site.py` looks at every page that was built.
"""

import os
import sys
import warnings
from pathlib import Path

# One thread for each library: the gallery runs on two cores, and numbers shall not depend on them.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from written_pages import EXTRA

import catspace

EXTRA.mkdir(parents=True, exist_ok=True)

project = "catspace"
author = "the catspace developers"
copyright = author
release = version = catspace.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    "repository_links",
    "inherited_docstrings",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "requirements.txt", "gallery/**/*.ipynb"]
# Records that `catspace reproduce` writes begin with a heading of level 3.
suppress_warnings = ["myst.header"]

# Markdown: every heading can be linked to, as on a code host.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "attrs_inline"]

# The reference: single backticks are names of Python objects.
default_role = "py:obj"
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_use_plots = False
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"

# The gallery.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(cluster|serving/)",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "write_computation_times": False,  # a page with scripts of other hosts
    "show_signature": False,
    "image_scrapers": ("matplotlib", "written_pages.scrape"),
    "subsection_order": ["../examples/vectors", "../examples/prediction", "../examples/production"],
    "matplotlib_animations": False,
    "doc_module": ("catspace",),
    "backreferences_dir": "generated/backreferences",
    "exclude_implicit_doc": {r"catspace\.(make_sales|EmbeddingRegressor)$"},
    "min_reported_time": 0,
}

html_theme = "pydata_sphinx_theme"
html_title = "catspace"
html_static_path = ["_static"]
html_extra_path = [str(EXTRA)]
html_css_files = ["catspace.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "catspace"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# A warning in an example is a fault of the example.
warnings.filterwarnings("error", module=r"catspace.*")
