"""Sphinx configuration for docs/site/build.py."""

from __future__ import annotations

from pathlib import Path
import sys

sys.path.insert(0, str(Path(__file__).parent))

from sim_bridge import __version__

project = 'sim_bridge'
version = release = __version__
html_title = f'sim_bridge {release}'
html_theme = 'furo'
html_show_copyright = False
html_copy_source = html_show_sourcelink = False

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'docstrings']
include_patterns = [
    'index.md',
    'ARCHITECTURE.md',
    'CHANGELOG.rst',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'docs/**',
    'benchmarks/README.md',
    'changes/README.md',
    'reference/**',
]

# quotes mark code more often than speech
smartquotes = False

# heading anchors as on GitHub
myst_heading_anchors = 6

# document a class and its constructor arguments
autoclass_content = 'both'
autodoc_member_order = 'bysource'
autodoc_typehints_format = 'short'
# document inherited members, except those from Python's own classes
autodoc_default_options = {
    'members': True,
    'inherited-members': 'object,DeclaredAttributes,Mapping,Sequence,tuple,Exception',
    'exclude-members': 'advice,fixed_names,internal_names,is_tree',
}
# show array type aliases, not their definitions
autodoc_type_aliases = {
    name: name for name in ('FloatArray', 'IntArray', 'Number', 'Vector', 'Matrix')
}
add_module_names = False
# `type` in a signature is Python's, not a joint's
suppress_warnings = ['ref.python']
python_maximum_signature_line_length = 88
