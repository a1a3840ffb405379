"""Move the changelog fragments of `changes/` into CHANGELOG.rst: `collect.py VERSION`."""

from __future__ import annotations

import datetime
from pathlib import Path
import re
import sys

FOLDER = Path(__file__).resolve().parent
GROUPS = {
    'added': 'Added',
    'changed': 'Changed',
    'faster': 'Faster',
    'fixed': 'Fixed',
    'deprecated': 'Deprecated',
    'removed': 'Removed',
}


def read_fragments(folder: Path) -> dict[str, list[str]]:
    """
    Return all fragments' lines by group, sorted by file name.

    Raises ValueError for a file with an unknown group or with more than one paragraph.
    """
    lines: dict[str, list[str]] = {}
    for path in sorted(folder.glob('*.rst')):
        group = path.stem.rpartition('.')[2]
        text = path.read_text(encoding='utf-8').strip()
        if group not in GROUPS:
            raise ValueError(f'{path.name}: group {group!r}; the groups are {", ".join(GROUPS)}')
        if not text or '\n\n' in text:
            raise ValueError(f'{path.name}: expected one paragraph')
        lines.setdefault(group, []).append(' '.join(text.split()))
    return lines


def section(version: str, date: str, lines: dict[str, list[str]]) -> str:
    """Return the changelog section of a version, in the form catkin_pkg reads."""
    title = f'{version} ({date})'
    groups = [
        '\n'.join([f'* {title}:', '', *(f'  * {line}' for line in lines[group])])
        for group, title in GROUPS.items()
        if group in lines
    ]
    return '\n'.join([title, '-' * len(title), *groups, ''])


def insert(changelog: str, text: str) -> str:
    """Return the changelog with a section inserted before its newest one."""
    first = re.search(r'^\d+\.\d+\.\d+ \(.*\)\n-+$', changelog, re.MULTILINE)
    at = len(changelog) if first is None else first.start()
    return f'{changelog[:at]}{text}\n{changelog[at:]}'


def main(arguments: list[str]) -> None:
    """Write CHANGELOG.rst and delete the fragments; arguments: the version."""
    if len(arguments) != 1 or not re.fullmatch(r'\d+\.\d+\.\d+', arguments[0]):
        raise SystemExit('usage: python changes/collect.py VERSION, for example 1.2.3')
    [version] = arguments
    lines = read_fragments(FOLDER)
    if not lines:
        raise SystemExit('changes/ has no fragment')
    changelog = FOLDER.parent / 'CHANGELOG.rst'
    date = datetime.date.today().isoformat()
    changelog.write_text(
        insert(changelog.read_text(encoding='utf-8'), section(version, date, lines))
    )
    for path in FOLDER.glob('*.rst'):
        path.unlink()


if __name__ == '__main__':
    main(sys.argv[1:])
