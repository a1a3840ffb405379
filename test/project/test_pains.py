"""Tests named in documents exist, and every known pain and fault names one."""

from __future__ import annotations

import ast
import re

import pytest

NAMED_TEST = re.compile(r'`(test_\w+\.py)::(test_\w+)`')


def test_tests_named_in_documents_exist(repository):
    """Name only existing tests in documents."""
    functions = {
        (path.name, node.name)
        for path in (repository / 'test').rglob('test_*.py')
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    for document in (repository / 'docs').glob('*.md'):
        missing = set(NAMED_TEST.findall(document.read_text())) - functions
        assert not missing, f'{document.name} names tests that are not there: {missing}'


@pytest.mark.parametrize('document', ['pains.md', 'faults.md'])
def test_every_row_names_a_test(repository, document):
    """Cover each row of the tables by a test; its last column names them."""
    text = (repository / 'docs' / document).read_text()
    rows = [line.split('|')[1:-1] for line in text.splitlines() if line.startswith('| ')]
    rows = [cells for cells in rows if cells[-1].strip(' -') not in ('', 'shown by')]
    assert rows
    for cells in rows:
        assert NAMED_TEST.search(cells[-1]), cells
