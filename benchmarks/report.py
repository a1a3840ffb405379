"""Tables for people, JSON for machines, and a description of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
import json
import math
import os
from pathlib import Path
import platform


@dataclass(frozen=True)
class Target:
    """A project target, and whether it was met."""

    claim: str
    measured: float
    limit: float

    @property
    def verdict(self) -> str:
        """Return 'met', 'MISSED' or, if an engine is missing, 'not measured'."""
        if math.isnan(self.measured) or math.isnan(self.limit):
            return 'not measured'
        return 'met' if self.measured <= self.limit else 'MISSED'

    def row(self) -> list[str]:
        """Return the cells for the target table."""
        return [
            self.claim,
            _number(self.measured, '{:.3g}'),
            _number(self.limit, '<= {:.3g}'),
            self.verdict,
        ]


@dataclass
class Report:
    """
    One benchmark's outcome.

    sections: texts in printing order. data: all data behind the texts, for JSON.
    """

    name: str
    sections: list[str] = field(default_factory=list)
    data: dict = field(default_factory=dict)

    def add_table(
        self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: str = ''
    ) -> None:
        """Append a table as text, unless it has no rows."""
        if not rows:
            return
        self.sections.append(format_table(title, header, rows, notes))

    def add_targets(self, targets: Sequence[Target]) -> None:
        """Append the target table and store the targets in the data."""
        self.add_table(
            'Targets', ['claim', 'measured', 'target', ''], [target.row() for target in targets]
        )
        self.data['targets'] = [
            {
                'claim': target.claim,
                'verdict': target.verdict,
                # JSON has no nan
                'measured': None if math.isnan(target.measured) else target.measured,
                'limit': None if math.isnan(target.limit) else target.limit,
            }
            for target in targets
        ]

    def add_missing(self, missing: dict[str, str]) -> None:
        """List the missing engines and how to install them."""
        if missing:
            self.add_table('Missing', ['', 'install with'], list(missing.items()))
        self.data['missing'] = missing

    def add_versions(self, versions: dict[str, str]) -> None:
        """List the compared engines' versions."""
        self.sections.append('; '.join(f'{name} {value}' for name, value in versions.items()))
        self.data['versions'] = versions

    def text(self) -> str:
        """Return the whole report as text."""
        return '\n\n'.join(self.sections) + '\n'

    def save(self, folder: Path) -> Path:
        """Write NAME.txt and NAME.json into `folder`; return the latter's path."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f'{self.name}.txt').write_text(self.text(), encoding='utf-8')
        path = folder / f'{self.name}.json'
        path.write_text(
            json.dumps({'machine': describe_machine(), **self.data}, indent=1) + '\n',
            encoding='utf-8',
        )
        return path


def format_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: str = ''
) -> str:
    """Format a table: the first column flush left, the others flush right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells):
        first = cells[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return '  '.join([first, *rest]).rstrip()

    rule = '-' * (sum(widths) + 2 * (len(widths) - 1))
    body = [title, rule, line(header), rule, *map(line, rows), rule]
    return '\n'.join([*body, notes] if notes else body)


def _number(value: float, form: str) -> str:
    return '-' if math.isnan(value) else form.format(value)


def describe_machine() -> dict[str, str]:
    """Return the facts needed to compare figures: processor, Python, packages."""
    packages = {}
    for name in ('numpy', 'llvmlite', 'numba', 'mujoco', 'pin', 'pybullet'):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = 'missing'
    return {
        'processor': _processor(),
        'cores': str(os.cpu_count()),
        'system': platform.system(),
        'python': platform.python_version(),
        **packages,
    }


def _processor() -> str:
    try:
        lines = Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(':')[2].strip() for line in lines if line.startswith('model name')),
        platform.machine(),
    )
