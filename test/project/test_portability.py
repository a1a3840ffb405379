"""Files that need POSIX: equal to the list in docs/development/portability.md."""

import ast
from pathlib import Path
import re

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENT = REPOSITORY / 'docs' / 'development' / 'portability.md'

MODULES = {'fcntl', 'grp', 'pty', 'pwd', 'resource', 'select', 'selectors', 'termios', 'tty'}
CALLS = {
    'fork',
    'getpgid',
    'getuid',
    'killpg',
    'sched_getaffinity',
    'sched_setaffinity',
    'sched_setscheduler',
    'set_blocking',
    'setsid',
}


def posix_needs(path: Path) -> set[str]:
    """Return the POSIX modules and functions used by a module."""
    text, found = path.read_text(encoding='utf-8'), set()
    if not any(name in text for name in (*MODULES, *CALLS, 'start_new_session')):
        return found
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found.add(node.module)
        elif isinstance(node, ast.Attribute) and node.attr in CALLS:
            found.add(f'os.{node.attr}')
        elif isinstance(node, ast.keyword) and node.arg == 'start_new_session':
            found.add('start_new_session')
    return found


def listed_files() -> set[str]:
    """Return the files in the table of the document."""
    rows = [line for line in DOCUMENT.read_text(encoding='utf-8').splitlines() if line[:1] == '|']
    found = set()
    for row in rows:
        first = row.split('|')[1]
        [*names] = re.findall(r'`(sim_bridge/[\w/.]+)`', first)
        folder = next((name for name in names if name.endswith('/')), '')
        found |= {name for name in names if not name.endswith('/')}
        found |= {folder + name for name in re.findall(r'`(\w+\.py)`', first)}
    return found


def test_files_that_need_posix_are_listed():
    """Compare the document's table with the imports and calls of all modules."""
    needed = {
        str(path.relative_to(REPOSITORY)): sorted(needs)
        for path in sorted((REPOSITORY / 'sim_bridge').rglob('*.py'))
        if (needs := posix_needs(path))
    }
    listed = listed_files()
    assert not {path: needs for path, needs in needed.items() if path not in listed}
    for path in listed:
        assert (REPOSITORY / path).is_file(), path
