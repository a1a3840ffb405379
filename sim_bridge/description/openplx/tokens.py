"""Words, numbers, texts and signs of an OpenPLX file, with its indentation."""

from __future__ import annotations

from collections.abc import Callable
import enum
import re
from typing import NamedTuple

# enough for meshes with some 100 000 vertices
MOST_TOKENS = 1_000_000
# limit for a line, not counting tokens in brackets
_MOST_IN_LINE = 10_000
_TAB = 4


class Kind(enum.Enum):
    """Kind of token. SIGN: an operator or a bracket, LINE: the end of a statement's line."""

    NAME = 'name'
    NUMBER = 'number'
    TEXT = 'text'
    PATH = 'file path'
    SIGN = 'sign'
    LINE = 'end of line'
    INDENT = 'indentation'
    DEDENT = 'end of a block'
    END = 'end of file'


class Token(NamedTuple):
    """Token. text: for a text or path, the part between quotes. line, column: from 1."""

    kind: Kind
    text: str
    line: int
    column: int


# report(code, line, column, message)
Report = Callable[[str, int, int, str], None]

_PATTERN = re.compile(
    r'(?P<NAME>[A-Za-z_]\w*)'
    r'|(?P<space>[ \t\r\f\ufeff]+)'
    r'|(?P<newline>\n)'
    r'|(?P<NUMBER>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)'
    r'|(?P<SIGN>->|[-+*/().,:\[\]{}])'
    r'|(?P<long>"""(?P<within>.*?)(?P<closed>"""|\Z))'
    r'|(?P<TEXT>(?P<prefix>[@$])?"(?P<inner>[^"\n]*)(?P<quote>"?))'
    r'|(?P<comment>#[^\n]*)'
    r'|(?P<other>.)',
    re.DOTALL | re.ASCII,
)

# a line like this never continues an expression: an open bracket above it was never closed
_STATEMENT = re.compile(r'[ \t]*[A-Za-z_.][\w. \t]*(?::|\bis\b|\bbecomes\b)', re.ASCII)


class _Lines:
    """Conversion of line indentation to INDENT and DEDENT tokens; none inside brackets."""

    def __init__(self, tokens: list[Token], report: Report):
        self._tokens, self._report = tokens, report
        self._levels = [0]
        self.brackets = 0

    def begin(self, width: int, line: int) -> None:
        """Begin a line with tokens. width: of its indentation."""
        if width > self._levels[-1]:
            self._levels.append(width)
            self._tokens.append(Token(Kind.INDENT, '', line, width + 1))
            return
        while width < self._levels[-1]:
            closed = self._levels.pop()
            if width > self._levels[-1]:
                self._report(
                    'indentation',
                    line,
                    width + 1,
                    f'{width} spaces end no block: expected {self._levels[-1]} or {closed}',
                )
                self._levels.append(width)
                return
            self._tokens.append(Token(Kind.DEDENT, '', line, width + 1))

    def end(self, line: int) -> None:
        """Close all blocks at the end of the file."""
        for _ in self._levels[1:]:
            self._tokens.append(Token(Kind.DEDENT, '', line, 1))
        self._tokens.append(Token(Kind.END, '', line, 1))


def tokenize(text: str, report: Report) -> list[Token]:
    """
    Return a file's tokens; report and skip other characters.

    Raises ValueError, with a message and the line, if the file exceeds the limits.
    """
    tokens: list[Token] = []
    lines = _Lines(tokens, report)
    line, start, is_new, first = 1, 0, True, 0
    for match in _PATTERN.finditer(text):
        group = match.lastgroup
        if group == 'space' or group == 'comment':
            continue
        column = match.start() - start + 1
        if group == 'newline':
            if lines.brackets and _STATEMENT.match(text, match.end()):
                lines.brackets = 0
            if not is_new and not lines.brackets:
                tokens.append(Token(Kind.LINE, '', line, column))
                is_new = True
            line, start = line + 1, match.end()
            continue
        if group == 'other':
            report('syntax', line, column, f'the character {match.group()!r} means nothing here')
            continue
        if is_new:
            before = text[start : match.start()].replace('\ufeff', '')
            lines.begin(len(before.expandtabs(_TAB)), line)
            is_new, first = False, len(tokens)
        if len(tokens) > MOST_TOKENS:
            raise ValueError(f'more than {MOST_TOKENS} words and signs are not read', line)
        if lines.brackets:
            first += 1
        elif len(tokens) - first > _MOST_IN_LINE:
            message = f'more than {_MOST_IN_LINE} words and signs on a line are not read'
            raise ValueError(message, line)
        tokens.append(_token(match, line, column, report))
        if group == 'SIGN':
            sign = match.group()
            if sign in '([{':
                lines.brackets += 1
            elif sign in ')]}':
                lines.brackets = max(lines.brackets - 1, 0)
        elif group == 'long':
            line += match.group().count('\n')
            start = max(start, text.rfind('\n', 0, match.end()) + 1)
    if not is_new:
        tokens.append(Token(Kind.LINE, '', line, len(text) - start + 1))
    lines.end(line)
    return tokens


def _token(match: re.Match[str], line: int, column: int, report: Report) -> Token:
    """Return a match's token; report a text without an end."""
    group = match.lastgroup
    if group == 'long':
        if not match['closed']:
            report('syntax', line, column, 'the text in """ has no end')
        return Token(Kind.TEXT, match['within'], line, column)
    if group == 'TEXT':
        if not match['quote']:
            report('syntax', line, column, 'the text has no closing quote in its line')
        return Token(Kind.PATH if match['prefix'] else Kind.TEXT, match['inner'], line, column)
    return Token(Kind[str(group)], match.group(), line, column)
