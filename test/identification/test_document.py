"""docs/identification.md: its program runs, and its tuning file is accepted."""

from __future__ import annotations

import re

import sim_bridge as sb
from sim_bridge.identification.parameters import KINDS
from sim_bridge.tuning.measures import FUNCTIONS, SIGNALS
from sim_bridge.tuning.tuning_file import ATTRIBUTES, KEYS


def page(repository) -> str:
    """Return the text."""
    return (repository / 'docs' / 'identification.md').read_text()


def blocks(text: str, language: str) -> list[str]:
    """Return the blocks in a language."""
    return re.findall(rf'^```{language}\n(.*?)^```', text, re.MULTILINE | re.DOTALL)


def test_the_program_runs(repository):
    """Run it; its assertion verifies the claim."""
    (program,) = blocks(page(repository), 'python')
    exec(compile(program, 'identification.md', 'exec'), {'__name__': 'shown'})


def test_the_tuning_file_is_taken(repository, tmp_path):
    """Run a short search with it."""
    file = tmp_path / 'tuning.yaml'
    (shown,) = blocks(page(repository), 'yaml')
    file.write_text(shown)
    found = sb.optimise(file, rounds=2)
    assert all(each.holds for each in found.limits)


def test_everything_is_named(repository):
    """Name all kinds, keys, signals, functions and attributes."""
    text = page(repository)
    for names in (KINDS, KEYS, SIGNALS, FUNCTIONS, ATTRIBUTES):
        for name in names:
            assert re.search(rf'\b{name}\b', text), name
