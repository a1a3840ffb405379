"""Defects of a robot description: findings, reports, and the error carrying a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
import json

from sim_bridge.foundation.errors import brief, close_match, shortened, SimBridgeError

ERROR = 'error'
WARNING = 'warning'

# findings about details: those of different tags and attributes share a line
_DETAILS = frozenset({'unknown-tag', 'unknown-attribute', 'unknown-key', 'ignored-tag'})
# findings about elements left out of the simulation
_NOT_SIMULATED = frozenset({'not-simulated', 'unsupported-sensor', 'unplaced-sensor'})
_LONGEST_VALUE = 60
_LONGEST_MESSAGE = 2000
_LINES_SHOWN = 8
_WORDS_SHOWN = 6
_NAMES_SHOWN = 8


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the closest known name, or the first ones."""
    known = list(dict.fromkeys(known))
    close = close_match(name, known)
    hint = f'; did you mean {close!r}?' if close else ''
    if known and not close:
        shown = ', '.join(map(brief, known[:_NAMES_SHOWN]))
        hint = f'; there {"is" if len(known) == 1 else "are"} {shown}'
        hint += f' and {len(known) - _NAMES_SHOWN} more' if len(known) > _NAMES_SHOWN else ''
    return f'no {kind} has this name{hint}'


class LineOfFile(int):
    """Line number in another file than the report's source. file: its path."""

    file: str

    @classmethod
    def of(cls, number: int, file: str) -> LineOfFile:
        """Return a line of a file."""
        line = cls(number)
        line.file = file
        return line


@dataclass(frozen=True)
class Place:
    """
    Place in a description.

    element: tags from the link, joint or sensor inwards, such as 'joint/axis'. name: link, joint
    or sensor name. line: the element's line, counted from 1; 0 if unknown. attribute: attribute
    name; '' for the element itself or its text. file: file with the line, '' for the report's
    source. column: counted from 1; 0 if unknown.
    """

    element: str
    name: str = ''
    line: int = 0
    attribute: str = ''
    file: str = ''
    column: int = 0

    def child(self, tag: str, line: int) -> Place:
        """Return an element's place inside this one."""
        return Place(f'{self.element}/{tag}', self.name, line)

    def at(self, attribute: str) -> Place:
        """Return the place of the element's attribute or key."""
        return replace(self, attribute=attribute)


@dataclass(frozen=True)
class Finding:
    """
    One defect.

    severity: 'error' (cannot be simulated) or 'warning'. code: kind of defect, a stable word for
    programs. element, name, line, file, column: see `Place`. attribute, value: as written by the
    user; attribute is '' for the element itself or its text. omits: part left out of the robot for
    this warning, such as 'sensor'; '' for none.
    """

    severity: str
    code: str
    element: str
    name: str
    attribute: str
    value: str
    line: int
    message: str
    file: str = ''
    column: int = 0
    omits: str = ''

    @property
    def subject(self) -> str:
        """Defective element as text, as in `joint 'elbow' <axis xyz="0 0 0">`."""
        head, *inner = self.element.split('/')
        value = self.value
        if len(value) > _LONGEST_VALUE:
            value = f'{value[:_LONGEST_VALUE]}…'
        shown = ' '.join(value.split())
        written = f' {self.attribute}="{shown}"' if shown else f' {self.attribute}'
        written = written if self.attribute else ''
        tags = f' <{"/".join(inner)}{written}>' if inner else written
        text = f' {shown}' if shown and not self.attribute else ''
        label = f'{head} {brief(self.name)}' if self.name else head
        return f'{label}{tags}{text}'


@dataclass(frozen=True)
class Report:
    """All findings in one description, in file order."""

    source: str = '<string>'
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Defects that prevent a simulation."""
        return tuple(finding for finding in self.findings if finding.severity == ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Defects that a simulation tolerates."""
        return tuple(finding for finding in self.findings if finding.severity == WARNING)

    @property
    def not_simulated(self) -> tuple[Finding, ...]:
        """Elements of the description without simulation."""
        return tuple(each for each in self.findings if each.omits or each.code in _NOT_SIMULATED)

    @property
    def ok(self) -> bool:
        """Whether the description can be simulated."""
        return not self.errors

    def strict(self) -> Report:
        """Return the report with an error for every part left out."""
        return replace(
            self,
            findings=tuple(
                replace(each, severity=ERROR) if each.omits else each for each in self.findings
            ),
        )

    def to_text(self) -> str:
        """
        Return the report for people: one line per defect, which editors can jump to, and a count.

        Equal defects at several places share one line: the first place and the count of others,
        with the other tags or attributes if these differ.
        """
        lines = self.lines()
        return '\n'.join([*lines, f'{self.source}: {self.summary()}'])

    def lines(self) -> list[str]:
        """Return the lines of `to_text` without the count."""
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for finding in self.findings:
            groups.setdefault(_group(finding), []).append(finding)
        return [self._group_text(group) for group in groups.values()]

    def summary(self) -> str:
        """Return the error and warning counts as text."""
        if not self.findings:
            return 'no defects found'
        counts = []
        for findings, word in ((self.errors, 'error'), (self.warnings, 'warning')):
            if findings:
                counts.append(f'{len(findings)} {word}{"s" if len(findings) > 1 else ""}')
        return ', '.join(counts)

    def to_json(self, **more: object) -> str:
        """
        Return the report as JSON: source, ok, error and warning counts, all findings.

        more: further members, by key.
        """
        return json.dumps(
            {
                'source': self.source,
                'ok': self.ok,
                'errors': len(self.errors),
                'warnings': len(self.warnings),
                'findings': [_members(finding) for finding in self.findings],
                **more,
            },
            indent=2,
            ensure_ascii=False,
        )

    def _group_text(self, group: list[Finding]) -> str:
        first, *others = group
        numbers = f'{first.line}:{first.column}' if first.column else f'{first.line}'
        line = f':{numbers}' if first.line else ''
        place = f'{first.file or self.source}{line}: {first.severity}: {first.subject}'
        left_out = f'; the {first.omits} is left out' if first.omits else ''
        text = f'{place}: {first.message}{left_out} [{first.code}]'
        if not others:
            return text
        numbers_of_others = dict.fromkeys(str(finding.line) for finding in others if finding.line)
        places = [*numbers_of_others][:_LINES_SHOWN]
        more = ', …' if len(numbers_of_others) > len(places) else ''
        where = f': lines {", ".join(places)}{more}' if places else ''
        words = dict.fromkeys(_word(finding) for finding in others)
        words.pop(_word(first), None)
        named = f'; also {", ".join([*words][:_WORDS_SHOWN])}' if words else ''
        named += ', …' if len(words) > _WORDS_SHOWN else ''
        return f'{text} (and {len(others)} more{where}{named})'


def _word(finding: Finding) -> str:
    """Return an element's last tag and the attribute."""
    tag = finding.element.rpartition('/')[2]
    return f'<{tag} {finding.attribute}>' if finding.attribute else f'<{tag}>'


def _group(finding: Finding) -> tuple[str, ...]:
    """
    Return the key of a finding's group.

    An element without simulation differs by its own name, a detail only by the kind of its part.
    """
    own = finding.name if finding.code in _NOT_SIMULATED else ''
    is_detail = finding.code in _DETAILS
    return (
        finding.severity,
        finding.code,
        finding.element.partition('/')[0] if is_detail else finding.element,
        '' if is_detail else finding.attribute,
        finding.message,
        finding.file,
        own,
    )


def _members(finding: Finding) -> dict[str, object]:
    """Return a finding's JSON members; the last three only if they are known."""
    members = asdict(finding)
    optional = ('file', 'column', 'omits')
    return {key: value for key, value in members.items() if value or key not in optional}


@dataclass
class Findings:
    """Collector of findings while a description is read; repeated findings count once."""

    found: dict[Finding, None] = field(default_factory=dict)

    def error(
        self, code: str, place: Place, message: str, attribute: str = '', value: str = ''
    ) -> None:
        """Add a defect that prevents a simulation."""
        self.add(ERROR, code, place, message, attribute or place.attribute, value)

    def warning(
        self, code: str, place: Place, message: str, attribute: str = '', value: str = ''
    ) -> None:
        """Add a defect that a simulation tolerates."""
        self.add(WARNING, code, place, message, attribute or place.attribute, value)

    def add(
        self,
        severity: str,
        code: str,
        place: Place,
        message: str,
        attribute: str = '',
        value: str = '',
        omits: str = '',
    ) -> None:
        """Add a finding of the given severity, with shortened texts."""
        finding = Finding(
            severity,
            code,
            shortened(place.element),
            shortened(place.name),
            shortened(attribute),
            shortened(value),
            place.line,
            shortened(message, _LONGEST_MESSAGE),
            shortened(place.file or getattr(place.line, 'file', '')),
            place.column,
            omits,
        )
        self.found.setdefault(finding)

    def take_part(self, own: Findings, part: str) -> bool:
        """
        Take over the findings about one part of a robot; return whether the part can be used.

        An error becomes a warning, and the part is left out: only the body can refuse a robot.
        part: kind of part, such as 'sensor'.
        """
        is_usable = True
        for finding in own.found:
            if finding.severity == ERROR:
                is_usable = False
                finding = replace(finding, severity=WARNING, omits=part)
            self.found.setdefault(finding)
        return is_usable

    def report(self, source: str) -> Report:
        """Return the findings so far, ordered by file and line; findings without a line last."""
        ordered = sorted(
            self.found, key=lambda found: (found.file, found.line or 10**9, found.column)
        )
        return Report(source, tuple(ordered))


class DescriptionError(SimBridgeError):
    """Error for a robot description that cannot be simulated; `report` holds every defect."""

    headline = 'the robot description cannot be simulated'
    unread = 'the robot description cannot be read'

    def __init__(self, report: Report):
        self.report = report
        errors = report.errors
        is_unread = bool(errors) and all(each.code == 'unreadable' for each in errors)
        headline = self.unread if is_unread else self.headline
        super().__init__(f'{headline}\n{report.to_text()}')


class SceneError(DescriptionError):
    """Error for a scene that cannot be loaded; `report` holds every defect."""

    headline = unread = 'the scene cannot be loaded'
