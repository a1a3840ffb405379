"""Results for robot files, and their table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
import json

# relative to the commanded distance
_WITHIN = 0.02
_LONGEST = 160
_HEADER = (
    'file',
    'loads',
    'reason',
    'base',
    'stands still',
    'sensors',
    'drives',
    'controllers',
    'clients',
    'seconds',
)


@dataclass
class Parts:
    """
    Declared parts, for example sensors.

    made: number simulated. named: number reported as not simulated. silent: the other names.
    """

    made: int = 0
    named: int = 0
    silent: list[str] = field(default_factory=list)

    @property
    def declared(self) -> int:
        """Number declared."""
        return self.made + self.named + len(self.silent)

    def text(self) -> str:
        """Return the table cell."""
        lost = f', silent: {", ".join(self.silent)}' if self.silent else ''
        return f'{self.made}+{self.named}/{self.declared}{lost}' if self.declared else ''


@dataclass
class DriveResult:
    """
    Straight motion by a drive, relative to the commanded distance.

    error: distance between true and commanded end point. odometry: the same for the wheel
    odometry. reason: reason for a missing result, '' for none.
    """

    name: str
    error: float = 0.0
    odometry: float = 0.0
    reason: str = ''

    @property
    def is_straight(self) -> bool:
        """Whether both end points are within 2 % of the command."""
        return not self.reason and max(self.error, self.odometry) <= _WITHIN

    def text(self) -> str:
        """Return the result as text."""
        if self.reason:
            return f'{self.name}: {self.reason}'
        return f'{self.name}: {self.error:.1%}, odometry {self.odometry:.1%}'


@dataclass
class Row:
    """
    Result for a file.

    loads: whether the robot is in a world. reason: first error, or the process's end. base:
    'fixed' or 'free'. stands: 'yes', or the motion. clients: results by action, drive and topic.
    seconds: wall time.
    """

    file: str
    loads: bool = False
    reason: str = ''
    base: str = ''
    stands: str = ''
    sensors: Parts = field(default_factory=Parts)
    drives: list[DriveResult] = field(default_factory=list)
    controllers: Parts = field(default_factory=Parts)
    clients: str = ''
    seconds: float = 0.0

    def to_json(self) -> str:
        """Return the row as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Row:
        """Return the row with this JSON."""
        values = json.loads(text)
        values['sensors'] = Parts(**values['sensors'])
        values['controllers'] = Parts(**values['controllers'])
        values['drives'] = [DriveResult(**each) for each in values['drives']]
        return cls(**values)

    def cells(self) -> list[str]:
        """Return the table cells."""
        return [
            self.file,
            'yes' if self.loads else 'no',
            _short(self.reason),
            self.base,
            self.stands,
            self.sensors.text(),
            '; '.join(each.text() for each in self.drives),
            self.controllers.text(),
            self.clients,
            f'{self.seconds:.1f}',
        ]


def table(rows: Iterable[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [list(_HEADER), ['---'] * len(_HEADER), *(row.cells() for row in rows)]
    return '\n'.join(f'| {" | ".join(map(_escaped, line))} |' for line in lines)


def _escaped(cell: str) -> str:
    """Return a cell without Markdown's separators and HTML tags."""
    return cell.replace('|', '\\|').replace('<', '&lt;')


def summary(rows: Sequence[Row], skipped: Iterable[str]) -> str:
    """Return the totals as one line. skipped: reason for each skipped file."""
    loaded = [row for row in rows if row.loads]
    drives = [drive for row in rows for drive in row.drives]
    standing = sum(row.stands == 'yes' for row in loaded)
    straight = sum(drive.is_straight for drive in drives)
    return '; '.join(
        [
            f'{len(loaded)} of {len(rows)} files load',
            f'{standing} stand still',
            f'{straight} of {len(drives)} drives within {_WITHIN:.0%}',
            _total('sensors', [row.sensors for row in rows]),
            _total('controllers', [row.controllers for row in rows]),
            f'skipped: {_counts(skipped)}',
        ]
    )


def _total(kind: str, parts: Sequence[Parts]) -> str:
    made, named = sum(each.made for each in parts), sum(each.named for each in parts)
    declared = sum(each.declared for each in parts)
    return f'{kind}: {made} simulated and {named} named of {declared}'


def _counts(reasons: Iterable[str]) -> str:
    counts = sorted(Counter(reasons).items())
    return ', '.join(f'{number} {reason}' for reason, number in counts) or 'none'


def _short(text: str) -> str:
    line = ' '.join(text.split())
    return line if len(line) <= _LONGEST else f'{line[:_LONGEST]}…'
