"""
Compare the MJCF models of PyPI packages with MuJoCo; `python -m corpus.mjcf_models FOLDER...`.

FOLDER: an unpacked wheel, or any folder; without one, the installed packages named in _PACKAGES.
The table counts the files: equal, different, refused here, refused by MuJoCo itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
import importlib.util
from pathlib import Path
import sys

from corpus.mjcf_twin import compare, Comparison
from sim_bridge.description.formats import root_name

_PACKAGES = ('gymnasium', 'gymnasium_robotics', 'dm_control', 'robosuite')
_TOLERANCE = 1e-9
_COLUMNS = ('files', 'equal', 'different', 'refused here', 'refused by MuJoCo')


def main(folders: list[str]) -> None:
    """Print the table, and each file that is not equal."""
    counts: dict[str, Counter[str]] = {}
    for folder in map(Path, folders or list(_installed())):
        own = counts.setdefault(folder.name, Counter())
        for path in _models(folder):
            found = compare(path)
            outcome = outcome_of(found)
            own['files'] += 1
            own[outcome] += 1
            if outcome != 'equal':
                print(f'{path.relative_to(folder)}: {outcome}: {_reason(found)}', flush=True)
    print(f'| package | {" | ".join(_COLUMNS)} |\n| --- |{" --- |" * len(_COLUMNS)}')
    for name, own in counts.items():
        print(f'| {name} | {" | ".join(str(own[column]) for column in _COLUMNS)} |')


def outcome_of(found: Comparison) -> str:
    """Return a comparison's column in the table."""
    if found.report.ok:
        return 'equal' if found.worst < _TOLERANCE else 'different'
    codes = {each.code for each in found.report.errors}
    return 'refused by MuJoCo' if codes == {'mujoco'} else 'refused here'


def _reason(found: Comparison) -> str:
    if found.report.ok:
        return ', '.join(f'{name} {error:.1e}' for name, error in found.errors.items())
    return found.report.errors[0].message


def _installed() -> Iterator[str]:
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            yield spec.submodule_search_locations[0]


def _models(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob('*.xml')):
        text = path.read_text(errors='replace')
        if root_name(text) == 'mujoco':
            yield path


if __name__ == '__main__':
    main(sys.argv[1:])
