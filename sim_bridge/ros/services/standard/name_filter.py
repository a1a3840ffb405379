r"""
Regular expressions for names according to the standard: POSIX extended.

Python's own expressions backtrack: '(a+)+$' on thirty letters takes minutes. Meanwhile no other
thread runs, not even the physics thread, and no time limit can end the search. Here all
alternatives are followed at once by a Glushkov automaton: its states are the expression's
characters. The time is bounded by the product of the lengths of expression and name, both short.

Syntax undefined in POSIX and read differently by implementations is refused, but \d, \w, \s and
their opposites have their usual meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import re
import string
from typing import NamedTuple

from sim_bridge.foundation.errors import InvalidValueError

# Maximum number of characters and groups in an expression, with repetitions written out. POSIX
# has the same limit for one repetition.
MOST_PARTS = 255

# Maximum length of the text: sets and empty alternatives may contain any number of characters.
MOST_TEXT = 1000

# symbols before the first character and after the last one, matched by '^' and '$'
_BEGIN, _END = 'begin', 'end'

# called with a character, _BEGIN or _END
_Accepts = Callable[[str], bool]

_WORD = string.ascii_letters + string.digits + '_'
_ESCAPES = {'d': string.digits, 'w': _WORD, 's': string.whitespace}
_CLASSES = {
    'alpha': string.ascii_letters,
    'digit': string.digits,
    'alnum': string.ascii_letters + string.digits,
    'upper': string.ascii_uppercase,
    'lower': string.ascii_lowercase,
    'space': string.whitespace,
    'blank': ' \t',
    'punct': string.punctuation,
    'xdigit': string.hexdigits,
}
_CLASS = re.compile(r'\[:(\w+):\]')
_BOUNDS = re.compile(r'\{(\d{1,3})(,(\d{1,3})?)?\}')


class _Piece(NamedTuple):
    """
    A part of an expression, as states of an automaton.

    first, last: bit masks of the states that begin and end it. is_optional: whether it may match
    the empty text.
    """

    first: int
    last: int
    is_optional: bool


_NOTHING = _Piece(0, 0, True)


class NameFilter:
    """An expression to search for in names."""

    def __init__(self, expression: str) -> None:
        """Read the expression; raises InvalidValueError."""
        self._text, self._at, self._parts = expression, 0, 0
        # for each state: test of the accepted characters, bits of the next states
        self._accepts: list[_Accepts] = []
        self._next: list[int] = []
        # caches: names have much in common
        self._accepting: dict[str, int] = {}
        self._after: dict[tuple[int, str], int] = {}
        if len(expression) > MOST_TEXT:
            raise self._error(f'more than {MOST_TEXT} characters')
        self._whole = self._alternatives()
        if self._at < len(expression):
            raise self._error("a ')' without '('")

    def matches(self, name: str) -> bool:
        """Return whether the expression is found anywhere in a name."""
        if self._whole.is_optional:
            return True
        states = 0
        for symbol in (_BEGIN, *name, _END):
            after = self._after.get((states, symbol))
            if after is None:
                after = self._after[states, symbol] = self._advance(states, symbol)
            states = after
            if states & self._whole.last:
                return True
        return False

    def _advance(self, states: int, symbol: str) -> int:
        """Return the states reached by a symbol."""
        if symbol not in self._accepting:
            self._accepting[symbol] = sum(
                1 << state for state, accepts in enumerate(self._accepts) if accepts(symbol)
            )
        accepting = self._accepting[symbol]
        # a match may start at any character
        found = (self._reach(states) | self._whole.first) & accepting
        if symbol in (_BEGIN, _END):
            # '^' and '$' consume no character: several may follow each other
            while (more := found | self._reach(found) & accepting) != found:
                found = more
        return found

    def _reach(self, states: int) -> int:
        """Return all successors of the given states."""
        reached = 0
        for state in _bits(states):
            reached |= self._next[state]
        return reached

    # --- reading ---------------------------------------------------------------------------------

    def _alternatives(self) -> _Piece:
        """Read alternatives up to the end, or to a group's closing parenthesis."""
        whole = self._sequence()
        while self._take('|'):
            one = self._sequence()
            whole = _Piece(
                whole.first | one.first,
                whole.last | one.last,
                whole.is_optional or one.is_optional,
            )
        return whole

    def _sequence(self) -> _Piece:
        whole = _NOTHING
        while self._at < len(self._text) and self._text[self._at] not in '|)':
            start = self._at
            one = self._atom()
            least, most = self._repetition()
            copies = max(least, 1) if most is None else most
            after = self._at
            for number in range(copies):
                if number:
                    self._at = start
                    one = self._atom()
                if most is None and number == copies - 1:
                    self._connect(one, one)
                whole = self._joined(
                    whole, one._replace(is_optional=one.is_optional or number >= least)
                )
            self._at = after
        return whole

    def _atom(self) -> _Piece:
        """Read one repeatable item."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise self._error(
                f'more than {MOST_PARTS} characters and groups with repetitions written out'
            )
        symbol = self._text[self._at]
        self._at += 1
        if symbol == '(':
            group = self._alternatives()
            if not self._take(')'):
                raise self._error("a '(' without ')'")
            return group
        if symbol in '*+?{':
            raise self._error(f'a {symbol!r} with nothing to repeat')
        readers: dict[str, Callable[[], _Accepts]] = {
            '.': lambda: lambda one: len(one) == 1,
            '^': lambda: lambda one: one is _BEGIN,
            '$': lambda: lambda one: one is _END,
            '[': self._bracket,
            '\\': self._escape,
        }
        if symbol in readers:
            return self._state(readers[symbol]())
        return self._state(lambda one: one == symbol)

    def _repetition(self) -> tuple[int, int | None]:
        """Read an item's repetition: the minimum, and the maximum or None."""
        found: tuple[int, int | None] | None
        bounds = _BOUNDS.match(self._text, self._at)
        if bounds is not None:
            least, has_most, most = bounds.groups()
            self._at = bounds.end()
            end = (int(most) if most else None) if has_most else int(least)
            found = int(least), end
            if end is not None and end < int(least):
                raise self._error(f'the bounds {bounds[0]!r}')
        else:
            found = next(
                (
                    times
                    for symbol, times in (('*', (0, None)), ('+', (1, None)), ('?', (0, 1)))
                    if self._take(symbol)
                ),
                None,
            )
        if self._text[self._at : self._at + 1] in ('*', '+', '?', '{') and (
            found is not None or self._text[self._at] == '{'
        ):
            raise self._error('a second repetition, or one other than * + ? {m} {m,} {m,n}')
        return found or (1, 1)

    def _escape(self) -> _Accepts:
        symbol = self._text[self._at : self._at + 1]
        self._at += 1
        if symbol.lower() in _ESCAPES:
            return _one_of(_ESCAPES[symbol.lower()], symbol.isupper())
        if not symbol or symbol.isalnum():
            raise self._error(repr(chr(92) + symbol))
        return lambda one: one == symbol

    def _bracket(self) -> _Accepts:
        """Read a character set, after its opening bracket."""
        is_negated = self._take('^')
        members, start = '', self._at
        while self._at == start or not self._take(']'):
            symbol = self._text[self._at : self._at + 1]
            named = _CLASS.match(self._text, self._at)
            if named is not None and named[1] in _CLASSES:
                members += _CLASSES[named[1]]
                self._at = named.end()
                continue
            if symbol in ('', '\\') or self._text[self._at : self._at + 2] in ('[:', '[.', '[='):
                raise self._error("a set without ']', with an unknown class or a backslash")
            self._at += 1
            end = self._text[self._at + 1 : self._at + 2]
            if self._text[self._at : self._at + 1] == '-' and end not in ('', ']'):
                if end in '[\\' or end < symbol:
                    raise self._error(f'a range from {symbol!r} to {end!r}')
                # limited, since the full Unicode range has a million characters
                members += ''.join(map(chr, range(ord(symbol), min(ord(end), 0x2FF) + 1)))
                self._at += 2
            else:
                members += symbol
        return _one_of(members, is_negated)

    def _take(self, symbol: str) -> bool:
        """Skip the next character if it is `symbol`; return whether it was."""
        is_here = self._text[self._at : self._at + 1] == symbol
        self._at += is_here
        return is_here

    def _error(self, problem: str) -> InvalidValueError:
        return InvalidValueError(
            'filter',
            self._text,
            f'a POSIX extended regular expression, not {problem}',
            f'character {min(self._at, len(self._text))}',
        )

    # --- building --------------------------------------------------------------------------------

    def _state(self, accepts: _Accepts) -> _Piece:
        bit = 1 << len(self._accepts)
        self._accepts.append(accepts)
        self._next.append(0)
        return _Piece(bit, bit, False)

    def _joined(self, one: _Piece, other: _Piece) -> _Piece:
        self._connect(one, other)
        return _Piece(
            one.first | (other.first if one.is_optional else 0),
            other.last | (one.last if other.is_optional else 0),
            one.is_optional and other.is_optional,
        )

    def _connect(self, one: _Piece, other: _Piece) -> None:
        for state in _bits(one.last):
            self._next[state] |= other.first


def _one_of(members: str, is_negated: bool) -> _Accepts:
    known = frozenset(members)
    return lambda one: len(one) == 1 and (one in known) is not is_negated


def _bits(mask: int) -> Iterator[int]:
    """Yield the numbers of the set bits."""
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
