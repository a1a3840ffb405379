"""The table of pains: each has a test that is there."""

from __future__ import annotations

import ast
import re

import pytest


@pytest.mark.parametrize(('heading', 'count'), [('## Pains', 21), ('## What none', 16)])
def test_every_pain_names_tests_that_exist(repository, heading, count):
    """Number all rows, and name in each at least one function of a test file."""
    text = (repository / 'docs' / 'pains.md').read_text()
    (section,) = (part for part in text.split('\n## ') if f'## {part}'.startswith(heading))
    rows = [line.split('|')[1:-1] for line in section.splitlines() if re.match(r'\| \d', line)]
    assert [int(row[0]) for row in rows] == list(range(1, count + 1))
    for number, pain, answer, shown in rows:
        assert pain.strip()
        assert answer.strip()
        named = re.findall(r'`(test_\w+\.py)::(test_\w+)`', shown)
        assert len(named) == len(shown.split(',')), f'row {number}'
        for file, name in named:
            tree = ast.parse((repository / 'test' / file).read_text())
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
            assert name in functions, f'row {number}: {file} has no {name}'
