"""Docstrings, comments and documents use plain English: rates of roundabout words are bounded."""

from pathlib import Path

from language import count, document_prose, excess, LIMITS, python_prose
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def packages() -> dict[str, list[Path]]:
    """Return the Python files of each package, with its subpackages, and of each test folder."""
    files: dict[str, list[Path]] = {}
    for top in ('sim_bridge', 'test', 'benchmarks', 'corpus', 'docs', 'changes', 'urdf'):
        for path in sorted((REPOSITORY / top).rglob('*.py')):
            package = '/'.join(path.relative_to(REPOSITORY).parent.parts[:2])
            files.setdefault(package, []).append(path)
    return files


PACKAGES = packages()


def documents() -> dict[str, list[Path]]:
    """Return the documents of each folder."""
    files: dict[str, list[Path]] = {}
    for pattern in ('*.md', 'docs/**/*.md', 'benchmarks/*.md', 'changes/*.md'):
        for path in sorted(REPOSITORY.glob(pattern)):
            folder = path.parent.relative_to(REPOSITORY).as_posix()
            files.setdefault(folder, []).append(path)
    return files


DOCUMENTS = documents()


@pytest.mark.parametrize('package', PACKAGES)
def test_prose_of_code_is_plain(package):
    """Hold the rates in the docstrings and comments of each package."""
    texts = [
        text
        for path in PACKAGES[package]
        for text in python_prose(path.read_text(encoding='utf-8'))
    ]
    assert not excess(count(texts)), f'{package}: reword these; docs/glossary.md has the terms'


@pytest.mark.parametrize('folder', DOCUMENTS)
def test_documents_are_plain(folder):
    """Hold the rates in the documents of each folder."""
    texts = [
        text
        for path in DOCUMENTS[folder]
        for text in document_prose(path.read_text(encoding='utf-8'))
    ]
    assert not excess(count(texts)), f'{folder}: reword these; docs/glossary.md has the terms'


def test_the_count_finds_roundabout_sentences():
    """Count docstrings and comments, and leave out code and strings."""
    source = '"""What that which is of what."""\nx = "what"  # what\n'
    counted = count(python_prose(source))
    assert counted.words == {'what': 3, 'that': 1, 'which': 1, 'of': 1}
    assert set(excess(counted)) == {'what'}
    document = 'What `what` is\n```\nwhat\n```\n[a](what.md)\n'
    assert count(document_prose(document)).words['what'] == 1
    assert set(LIMITS) == set(counted.words)
