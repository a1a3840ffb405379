"""Recipes in docs/howto: their code runs, and their files are read without a defect."""

from __future__ import annotations

import json
from pathlib import Path
import re

import pytest

from sim_bridge.cli.main import main

PAGES = sorted((Path(__file__).parents[2] / 'docs' / 'howto').glob('[!R]*.md'))
SUFFIXES = {'yaml': '.yaml', 'xml': '.urdf'}


def blocks(page: Path, language: str) -> list[str]:
    """Return a page's blocks in a language."""
    return re.findall(rf'^```{language}\n(.*?)^```', page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_code_runs(page, repository, monkeypatch):
    """Run a page's Python; its assertions check its claims."""
    monkeypatch.chdir(repository)
    names: dict[str, object] = {'__name__': page.stem}
    for block in blocks(page, 'python'):
        exec(compile(block, str(page), 'exec'), names)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_files_are_read_without_a_defect(page, tmp_path, capsys):
    """Check a page's parameter files, scenes and robots, as a user would."""
    for language, suffix in SUFFIXES.items():
        for block in blocks(page, language):
            file = tmp_path / f'shown{suffix}'
            file.write_text(block)
            code = main(['check', '--json', str(file)])
            told = json.loads(capsys.readouterr().out)
            assert (code, told['findings']) == (0, []), block


def test_every_recipe_is_short():
    """Answer a question on less than a page and a half."""
    assert len(PAGES) > 8
    assert not [page.name for page in PAGES if len(page.read_text().splitlines()) > 80]
