"""Settings of Sphinx for the manual: `make docs` builds it into docs/_build/html, without network and with warnings as errors."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("NO_COLOR", "1")

project = "Ludory"
author = "The Ludory developers"
copyright = author
try:
    release = version = metadata.version("ludory")
except metadata.PackageNotFoundError:  # the sources are on the path without being installed
    release = version = ""

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "extension.facts",
    "extension.reference",
]
root_doc = "index"
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
nitpicky = False
default_role = "code"  # docstrings mark code with one backtick, as Markdown does
language = "en"

myst_enable_extensions = ["colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes and units, which types do not
autodoc_preserve_defaults = True
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Ludory"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db4f0", "color-brand-content": "#7db4f0"},
}
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

linkcheck_timeout = 15
linkcheck_retries = 2
