"""The tables of pains and of faults: each row names a test that is there."""

from __future__ import annotations

import ast
from functools import cache
import re

import pytest


@cache
def functions_of(path):
    """Return the names of a file's functions."""
    return {node.name for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)}


def check_tests(repository, shown, row):
    """See that a cell names functions of test files that exist, and nothing else."""
    named = re.findall(r'`(test_\w+\.py)::(test_\w+)`', shown)
    assert len(named) == len(shown.split(',')), row
    for file, name in named:
        (path,) = (repository / 'test').rglob(file)
        assert name in functions_of(path), f'{row}: {file} has no {name}'


@pytest.mark.parametrize('heading', ['## Pains', '## What none'])
def test_every_pain_names_tests_that_exist(repository, heading):
    """Name in each row at least one function of a test file."""
    text = (repository / 'docs' / 'pains.md').read_text()
    (section,) = (part for part in text.split('\n## ') if f'## {part}'.startswith(heading))
    rows = [line.split('|')[1:-1] for line in section.splitlines() if re.match(r'\| \d', line)]
    assert rows
    for number, pain, answer, shown in rows:
        assert pain.strip()
        assert answer.strip()
        check_tests(repository, shown, f'row {number}')


def test_every_fault_names_tests_that_exist(repository):
    """Name tests for each fault."""
    text = (repository / 'docs' / 'faults.md').read_text()
    rows = [line.split('|')[1:-1] for line in text.splitlines() if line.startswith('| ')][2:]
    assert rows
    for fault, outcome, shown in rows:
        assert outcome.strip()
        check_tests(repository, shown, fault)
