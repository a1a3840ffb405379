"""Type checkers know the library: they pass what is right, and find what is wrong."""

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

# what blocks of the documents that begin in the middle go on from
BEGINNING = """
import numpy as np
import sim_bridge as sb

world = sb.World()
robot = world.load_urdf('four_bar')
hinge = robot.joint('crank')
excavator = world.load_openplx('excavator.openplx')
"""

# kernels are typed by their compiler, messages of ROS by nothing; SNAP begins with plain data
OTHERS = ('from sim_bridge.compiler', '(Node)', 'snap(frames, mates)')


def library_code(document: Path) -> list[tuple[int, str]]:
    """Return the Python blocks of a document that use the library, with their lines."""
    text = document.read_text()
    blocks = [
        (text.count('\n', 0, found.start()) + 1, found[1])
        for found in re.finditer(r'^```python\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    ]
    return [(line, block) for line, block in blocks if not any(each in block for each in OTHERS)]


def test_type_checkers_tell_right_from_wrong(request, repository, tmp_path):
    """
    Find no error in what users write and documents show, and each of those that are marked.

    Of what is marked by `type: ignore`, mypy says where it is right.
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
    # blocks of a page go on from each other
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
    """Run a user's program, which compares the types that checkers see with those it gets."""
    runpy.run_path(str(PROGRAMS / 'right_uses.py'), run_name='__main__')


def test_type_checkers_know_the_public_names(repository):
    """List in the stub what the package offers, one name a line, as `__init__` reads it."""
    tree = ast.parse((repository / 'sim_bridge/__init__.pyi').read_text())
    imports = [each for each in tree.body if isinstance(each, ast.ImportFrom)]
    listed = [[(each.name, each.asname) for each in node.names] for node in imports]
    assert listed == [[(name, name)] for name in sb.__all__]
    old = {ast.unparse(each) for each in tree.body if isinstance(each, ast.Assign)}
    assert old == {f'{name} = {new}' for name, new in sb._RENAMED.items()}
