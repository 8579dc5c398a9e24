"""How the documentation is built: `make docs`, or `python -m sphinx -W docs build/docs`.

What is generated (the command line, the HTTP API, the map of rooms, the tables of lemmas and of
learners) is made by `tools/site` while the pages are read.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from keyhole.version import __version__  # noqa: E402

project = "keyhole"
author = "the keyhole authors"
copyright = "the keyhole authors, Apache License 2.0"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "tools.site.hooks"]
exclude_patterns = ["_build"]

# Markdown, as GitHub shows it; every heading down to the fourth level has an anchor.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# Docstrings in numpydoc form, with sections of our own.
napoleon_google_docstring = False
napoleon_custom_sections = ["Guarantee", "Deviations"]
napoleon_use_rtype = False
napoleon_use_ivar = True
default_role = "code"
smartquotes = False  # what stands in quotes is often code
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
_ALIASES = ("ArrayLike", "Block", "Derived", "Floats", "Indices", "Money", "Panels", "PriceList")
autodoc_type_aliases = {name: name for name in _ALIASES}
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
# Lists of attributes look for others of the same name; several classes have `rounds`.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"keyhole {release}"
html_static_path = ["_static"]
html_css_files = ["keyhole.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
