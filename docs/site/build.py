"""
Build the documentation site: `make docs` runs this.

The pages and the files they link to are copied with the repository's layout, so links between
them stay valid. The reference generated from the code, and the navigation given by the tables in
docs/README.md, are added. Sphinx turns these files into HTML. Every warning is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re
import shutil
import sys

ROOT = Path(__file__).resolve().parents[2]

# pages, and folders with linked and shown files
PAGES = ('README.md', 'ARCHITECTURE.md', 'CHANGELOG.rst', 'CONTRIBUTING.md', 'SECURITY.md')
FOLDERS = (
    'docs',
    'benchmarks',
    'changes',
    'config',
    'gallery',
    'launch',
    'sim_bridge',
    'test',
    'urdf',
)

_SECTION = re.compile(r'^## (.*)$', re.MULTILINE)
_PAGE = re.compile(r'^\| \[[^\]]*\]\(([^)#]+)\.(?:md|rst)\)', re.MULTILINE)


def navigation(index: str) -> Iterator[tuple[str, list[str]]]:
    """
    Yield the sections in docs/README.md, each with the pages in its table.

    index: text from docs/README.md. Pages are paths from the repository root, without suffix.
    """
    _, *parts = _SECTION.split(index)
    for title, text in zip(parts[::2], parts[1::2], strict=True):
        pages = (ROOT / 'docs' / page for page in _PAGE.findall(text))
        yield title, [page.resolve().relative_to(ROOT).as_posix() for page in pages]


def toctree(pages: list[str], caption: str = '') -> str:
    """Return the directive adding pages to the navigation; caption: heading above them."""
    options = ':hidden:\n' + (f':caption: {caption}\n' if caption else '')
    return f'\n```{{toctree}}\n{options}\n{chr(10).join(pages)}\n```\n'


def lay_out(source: Path) -> None:
    """Write all Sphinx inputs into the folder `source`, replacing it."""
    from reference import write_reference

    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    for name in PAGES:
        shutil.copy2(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns('__pycache__', 'site')
        )
    made = write_reference(source / 'reference')
    trees = [
        toctree([*pages, *(made if title == 'Reference' else ())], title)
        for title, pages in navigation((ROOT / 'docs' / 'README.md').read_text())
    ]
    readme = (ROOT / 'README.md').read_text()
    (source / 'index.md').write_text(readme + ''.join(trees) + toctree(['docs/README']))
    # a folder's README lists the folder's pages
    for folder in (source / 'docs').iterdir():
        if (folder / 'README.md').is_file():
            pages = sorted(each.stem for each in folder.glob('*.md') if each.stem != 'README')
            with open(folder / 'README.md', 'a') as file:
                file.write(toctree(pages))


def main(output: Path) -> int:
    """Build the site in the folder `output`, with its source folder beside it; return 0."""
    try:
        from sphinx.cmd.build import main as sphinx
    except ImportError:
        if sys.version_info >= (3, 11):
            raise
        print(
            'The documentation site needs Python 3.11 or later: make docs PYTHON=…',
            file=sys.stderr,
        )
        return 1
    source = output.with_name(f'{output.name}-source')
    lay_out(source)
    shutil.rmtree(output, ignore_errors=True)
    return sphinx(
        [
            '--quiet',
            '--fail-on-warning',
            '--keep-going',
            '--builder',
            'html',
            '--conf-dir',
            str(Path(__file__).parent),
            '--doctree-dir',
            str(output.with_name(f'{output.name}-doctrees')),
            str(source),
            str(output),
        ]
    )


if __name__ == '__main__':
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / 'build' / 'docs'))
