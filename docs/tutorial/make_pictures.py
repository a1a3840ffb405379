"""
Run the tutorial pages in this folder; their code draws their pictures.

    make pictures                                     # all pages
    make pictures ARGS=4_separation.md                # one of them
"""

from __future__ import annotations

import os
from pathlib import Path
import re
import sys

FOLDER = Path(__file__).resolve().parent


def code_of(page: Path) -> str:
    """Return a page's code: all its Python blocks, at their line numbers."""
    text = page.read_text()
    code, line = '', 1
    for found in re.finditer(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
        begin = text.count('\n', 0, found.start(1)) + 1
        code += '\n' * (begin - line) + found[1]
        line = begin + found[1].count('\n')
    return code


def run(page: Path) -> dict[str, object]:
    """Run a page in the present folder; return its global names."""
    names: dict[str, object] = {'__name__': page.stem}
    exec(compile(code_of(page), str(page), 'exec'), names)
    return names


def pages() -> list[Path]:
    """List the pages in their order."""
    return sorted(FOLDER.glob('[0-9]*.md'))


if __name__ == '__main__':
    os.chdir(FOLDER)
    # charts without a display
    os.environ['MPLBACKEND'] = 'Agg'
    for each in [FOLDER / name for name in sys.argv[1:]] or pages():
        print(each.name)
        run(each)
