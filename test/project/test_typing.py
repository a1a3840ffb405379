"""Type checkers accept correct uses of the library, and find wrong ones."""

from __future__ import annotations

import ast
import os
from pathlib import Path
import re
import runpy
import subprocess
import sys

import sim_bridge as sb

PROGRAMS = Path(__file__).parent / 'typed'

# preamble for document blocks that begin in the middle of a program
BEGINNING = """
import numpy as np
import sim_bridge as sb

world = sb.World()
robot = world.load_urdf('four_bar')
hinge = robot.joint('crank')
excavator = world.load_openplx('excavator.openplx')
"""

# kernels are typed by their compiler, ROS messages are untyped; SNAP begins with plain data
OTHERS = ('from sim_bridge.compiler', '(Node)', 'snap(frames, mates)')


def library_code(document: Path) -> list[tuple[int, str]]:
    """Return the Python blocks of a document that use the library, with their lines."""
    text = document.read_text()
    blocks = [
        (text.count('\n', 0, found.start()) + 1, found[1])
        for found in re.finditer(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    ]
    return [(line, block) for line, block in blocks if not any(each in block for each in OTHERS)]


def test_type_checkers_find_exactly_the_wrong_uses(request, repository, tmp_path):
    """
    Find no error in user programs and documents, and every error marked as such.

    mypy checks each `type: ignore` mark.
    """
    programs = list(PROGRAMS.glob('*.py'))
    for document in (
        repository / 'README.md',
        *(repository / 'docs').glob('*.md'),
        *(repository / 'docs' / 'howto').glob('*.md'),
    ):
        for line, block in library_code(document):
            programs.append(tmp_path / f'{document.stem}_{line}.py')
            programs[-1].write_text(block if 'import' in block else BEGINNING + block)
    # blocks of a page continue each other
    tutorial = runpy.run_path(str(repository / 'docs' / 'tutorial' / 'make_pictures.py'))
    for page in tutorial['pages']():
        programs.append(tmp_path / f'tutorial_{page.stem}.py')
        programs[-1].write_text(tutorial['code_of'](page))
    assert len(programs) > 10
    result = subprocess.run(
        [
            sys.executable,
            '-m',
            'mypy',
            '--strict',
            '--config-file=',
            '--cache-dir',
            request.config.cache.mkdir('mypy'),
            *programs,
        ],
        # found there, it counts as installed: mypy takes its types only with the marker py.typed
        env={**os.environ, 'PYTHONPATH': str(repository)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert result.returncode == 0, result.stdout


def test_types_are_true():
    """Run a user's program comparing the checkers' types with the types at run time."""
    runpy.run_path(str(PROGRAMS / 'right_uses.py'), run_name='__main__')


def test_type_checkers_know_the_public_names(repository):
    """List the package's public names in the stub, one per line, as `__init__` reads them."""
    tree = ast.parse((repository / 'sim_bridge/__init__.pyi').read_text())
    imports = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    listed = [[(each.name, each.asname) for each in node.names] for node in imports]
    assert listed == [[(name, name)] for name in sb.__all__]
    old = {ast.unparse(each) for each in tree.body if isinstance(each, ast.Assign)}
    assert old == {f'{name} = {new}' for name, new in sb._RENAMED.items()}
