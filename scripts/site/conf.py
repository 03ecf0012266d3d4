"""What Sphinx is told: https://www.sphinx-doc.org/en/master/usage/configuration.html has the names."""

from __future__ import annotations

from pathlib import Path

project = "mud-assistant"
author = "the authors of mud-assistant"
extensions = ["myst_parser"]
root_doc = "index"
highlight_language = "none"
smartquotes = False
myst_heading_anchors = 4

html_theme = "furo"
html_title = "mud-assistant"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/icon.svg"
html_search_scorer = str(Path(__file__).parent / "static/scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
html_show_copyright = False
html_theme_options = {"footer_icons": []}
