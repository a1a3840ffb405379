"""
Write the pins of this folder anew; `make pins` runs it.

The ranges in `setup.py` say what works; the pins say what `make` installs. pip resolves the ranges
once on each given interpreter, for everything together, so that the files fit each other; a
version that differs between interpreters gets an environment marker. The pip that runs this must
be a recent one: old resolvers get lost here.
"""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name

FOLDER = Path(__file__).resolve().parent

# Each file holds what its extra needs beyond the files before it; '' stands for the package
# itself.
FILES = {
    'run.txt': '',
    'openplx.txt': 'openplx',
    'mjcf.txt': 'mjcf',
    'usd.txt': 'usd',
    'build.txt': 'build',
    'ros.txt': 'ros',
    'view.txt': 'view',
    'plot.txt': 'plot',
    'gym.txt': 'gym',
    'sweep.txt': 'sweep',
    'pictures.txt': 'pictures',
    'film.txt': 'film',
    'ros-test.txt': 'ros-test',
    'lint.txt': 'lint',
    'bench.txt': 'bench',
    'meshes.txt': 'meshes',
    # of what Ray needs, other files have some, which `make tools RAY=1` takes from there
    'ray.txt': 'ray',
    'test.txt': 'test',
    'browser.txt': 'browser',
    'docs.txt': 'docs',
}
PROJECT = 'sim-bridge'


class Resolution:
    """What pip would install for the package with all its extras on one interpreter."""

    def __init__(self, python: str):
        """Let pip of `python` resolve the ranges of `setup.py`."""
        target = f'{FOLDER.parent}[{",".join(filter(None, FILES.values()))}]'
        output = subprocess.run(
            [
                *(sys.executable, '-m', 'pip', '--python', python, 'install'),
                *('--quiet', '--dry-run', '--ignore-installed', '--report', '-', target),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        report = json.loads(output)
        self.environment = report['environment']
        self.python_version = self.environment['python_version']
        self.packages = {
            canonicalize_name(item['metadata']['name']): item['metadata']
            for item in report['install']
        }

    def closure(self, name: str, extra: str, found: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Add to `found` all that `name[extra]` needs on this interpreter, as (name, extra)."""
        if (name, extra) in found:
            return found
        found.add((name, extra))
        for text in self.packages[name].get('requires_dist', ()):
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not marker.evaluate({**self.environment, 'extra': extra}):
                continue
            needed = canonicalize_name(requirement.name)
            for needed_extra in ('', *requirement.extras):
                self.closure(needed, needed_extra, found)
        return found

    def versions(self, extra: str) -> dict[str, str]:
        """Return name and version of all that the package with `extra` needs."""
        names = {name for name, _ in self.closure(PROJECT, extra, set())} - {PROJECT}
        return {name: self.packages[name]['version'] for name in names}


def marker(pythons: list[str], all_pythons: list[str]) -> str:
    """Say for which neighbouring ones of `all_pythons` a pin holds."""
    first, last = all_pythons.index(pythons[0]), all_pythons.index(pythons[-1])
    if all_pythons[first : last + 1] != pythons:
        raise ValueError(f'one pin for {pythons}, another one between')
    bounds = []
    if first > 0:
        bounds.append(f'python_version >= "{pythons[0]}"')
    if last < len(all_pythons) - 1:
        bounds.append(f'python_version < "{all_pythons[last + 1]}"')
    return f' ; {" and ".join(bounds)}' if bounds else ''


def pins(name: str, version_on: dict[str, str], all_pythons: list[str]) -> list[str]:
    """Write the lines that pin `name` to its version on each Python."""
    lines = []
    for version in dict.fromkeys(version_on.values()):
        pythons = [python for python in all_pythons if version_on.get(python) == version]
        lines.append(f'{name}=={version}{marker(pythons, all_pythons)}')
    return lines


def main(interpreters: list[str]) -> None:
    """Resolve on every interpreter and write the files."""
    resolutions = {r.python_version: r for r in map(Resolution, interpreters)}
    pythons = sorted(resolutions, key=lambda version: tuple(map(int, version.split('.'))))
    # what one extra needs on some interpreters only, a later one may need on others
    versions = {
        python: {
            name: version
            for extra in FILES.values()
            for name, version in resolutions[python].versions(extra).items()
        }
        for python in pythons
    }
    written: set[str] = set()
    for file, extra in FILES.items():
        needed = (resolutions[python].versions(extra) for python in pythons)
        names = sorted(set().union(*needed) - written)
        written.update(names)
        lines = [f'# Written by pin.py from the ranges in setup.py, for {", ".join(pythons)}.']
        for name in names:
            version_on = {p: versions[p][name] for p in pythons if name in versions[p]}
            lines += pins(name, version_on, pythons)
        (FOLDER / file).write_text('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main(sys.argv[1:])
