"""The documentation site: its contents, and no requests to other hosts."""

from __future__ import annotations

from html.parser import HTMLParser
import os
from pathlib import Path
import re
import runpy
import subprocess
import sys

import pytest

import sim_bridge as sb

# attributes loaded by a browser automatically; only readers follow links
LOADING = {'src', 'srcset', 'poster', 'data', 'action', 'background'}
ELSEWHERE = re.compile(r'(?:https?:)?//')


@pytest.fixture
def site(repository, monkeypatch):
    """Return the site's script folder, importable during the test."""
    folder = repository / 'docs' / 'site'
    monkeypatch.syspath_prepend(folder)
    return folder


def test_every_page_is_in_the_navigation(repository, site):
    """Name every document in a table of docs/README.md, once, or in the README of its folder."""
    sections = dict(
        runpy.run_path(str(site / 'build.py'))['navigation'](
            (repository / 'docs' / 'README.md').read_text()
        )
    )
    assert {'Start', 'How to', 'Concepts', 'Reference'} <= sections.keys()
    named = [page for pages in sections.values() for page in pages]
    assert len(named) == len(set(named))
    docs = repository / 'docs'
    expected = {f'docs/{page.stem}' for page in docs.glob('*.md')} - {'docs/README'}
    expected |= {f'docs/{page.parent.name}/README' for page in docs.glob('*/*.md')}
    assert expected == {page for page in named if page.startswith('docs/')}
    for folder in {page.parent for page in docs.glob('*/README.md')}:
        text = (folder / 'README.md').read_text()
        missing = [
            page.name
            for page in folder.glob('*.md')
            if page.name != 'README.md' and f']({page.name})' not in text
        ]
        assert not missing, f'{folder.name}/README.md names no {missing}'


def test_every_public_name_has_a_chapter(site):
    """Give each public name of the library a page in the reference."""
    chapters = dict(runpy.run_path(str(site / 'reference.py'))['_chapters']())
    listed = '\n'.join(chapters.values())
    missing = [
        name
        for name in sb.__all__
        if name not in chapters and f'.{name}\n' not in listed and name != '__version__'
    ]
    assert not missing


def test_docstrings_are_formatted(site):
    """Mark code only, format lists, and keep preformatted lines."""
    to_rst = runpy.run_path(str(site / 'docstrings.py'))['to_rst']
    assert list(
        to_rst(
            [
                'Return |x| of',
                '`Link`s, *all* of them.',
                '',
                'p, q: (3,) [m],',
                '    world.',
                'name: of it.',
                '',
                '- one',
                '  more',
                '- two',
                '',
                '    kept: as it',
                '    is',
            ]
        )
    ) == [
        r'Return \|x\| of \ ``Link``\ s, \*all\* of them.',
        '',
        '- ``p``, ``q``: (3,) [m], world.',
        '- ``name``: of it.',
        '',
        '- one more',
        '- two',
        '',
        '::',
        '',
        '        kept: as it',
        '        is',
        '',
    ]


def test_reference_matches_the_code(site):
    """Describe every verb, parameter and scene key as the code does."""
    reference = runpy.run_path(str(site / 'reference.py'))
    verbs = reference['_verbs']()
    for verb in reference['VERBS']:
        assert f'## {verb}\n' in verbs
        assert f'usage: sim_bridge {verb}' in verbs
    parameters = reference['_parameters']()
    for node, table in reference['TABLES'].items():
        assert f'## {node}\n' in parameters
        for name, spec in reference['specifications'](table).items():
            assert f'| `{name}`' in parameters
            assert spec.description.replace('|', r'\|').replace('<', r'\<') in parameters
    keys = reference['_yaml']()
    assert keys.count('```yaml\n') == keys.count('```\n') == 5
    assert '      solver: direct ' not in keys
    assert '\n  solver: direct ' in keys


class Loaded(HTMLParser):
    """Collects a page's loads from other hosts."""

    def __init__(self, page: str):
        """Read the page."""
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        """Note the addresses in a tag."""
        for name, value in attributes:
            loads = name in LOADING or (name == 'href' and tag != 'a')
            if loads and ELSEWHERE.match(value or ''):
                self.found.append(f'<{tag} {name}={value}>')


def outward(folder: Path) -> list[str]:
    """List the loads from other hosts in a site's files."""
    found = []
    for file in folder.rglob('*'):
        if file.suffix == '.html':
            found += Loaded(file.read_text()).found
        elif file.suffix == '.css':
            found += re.findall(
                rf'(?:@import|url\()[\s"\'(]*{ELSEWHERE.pattern}\S+', file.read_text()
            )
        elif file.suffix == '.js' and file.name != 'searchindex.js':
            # XML namespaces are not loaded
            found += re.findall(r'["\'`](?:https?:)?//(?!www\.w3\.org/)[\w.-]+', file.read_text())
    return found


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('a.html', '<script src="https://cdn.org/x.js"></script>'),
        ('a.html', '<link rel="stylesheet" href="//cdn.org/x.css">'),
        ('a.css', '@import "https://cdn.org/x.css";'),
        ('a.css', 'p { background: url(//cdn.org/x.png) }'),
        ('a.js', "fetch('https://cdn.org')"),
    ],
)
def test_loads_from_other_hosts_are_found(tmp_path, name, text):
    """Find each way for a page to load from another host."""
    (tmp_path / name).write_text(text)
    assert len(outward(tmp_path)) == 1


@pytest.mark.timeout(900)
def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(repository, tmp_path):
    """Build the site; it has tutorial, recipes and reference, and no part from another host."""
    result = subprocess.run(
        [sys.executable, repository / 'docs' / 'site' / 'build.py', tmp_path / 'site'],
        # no proxy, no host: downloads fail
        env={
            **os.environ,
            'https_proxy': 'http://127.0.0.1:9',
            'http_proxy': 'http://127.0.0.1:9',
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if sys.version_info < (3, 11):
        assert (result.returncode, 'needs Python 3.11' in result.stdout) == (1, True)
        return
    assert result.returncode == 0, result.stdout
    assert not result.stdout
    assert not outward(tmp_path / 'site')
    world = (tmp_path / 'site' / 'reference' / 'python_worlds.html').read_text()
    assert 'id="sim_bridge.World.step"' in world
    topics = (tmp_path / 'site' / 'reference' / 'topics_of_robots.html').read_text()
    assert 'sensor_msgs/JointState' in topics
    assert (tmp_path / 'site' / 'index.html').is_file()
