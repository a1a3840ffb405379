"""
Every error `sim_bridge` raises on purpose.

Each class builds its own message from the facts, so that all of them name the thing, the value,
the place and what would have been accepted. Catch `SimBridgeError` to catch them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import contextlib
import difflib
import enum
import reprlib

# Values and names come from files and messages and may be of any size; long ones are shortened,
# since a million numbers in a line of the log, once a second, fill a disk.
_LONGEST_TEXT = 300
_MOST_ITEMS = 40
_MOST_NAMES_COMPARED = 1000
_MOST_PARTS = 400
_LONGEST_VALUE = 2000
_MOST_BITS = 1000


class _Brief(reprlib.Repr):
    """Shows values of any size, also those that hold the same part many times."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxlist = self.maxtuple = self.maxdict = self.maxarray = _MOST_ITEMS
        self.maxstring = self.maxother = self.maxlong = _LONGEST_TEXT
        self._left = _MOST_PARTS

    def repr1(self, x: object, level: int) -> str:
        """Return the text of a part; subclasses are shown as the class that they extend."""
        self._left -= 1
        if self._left < 0:
            return '…'
        for kind in (str, list, tuple, dict, int):
            if isinstance(x, kind) and type(x) is not bool:
                text: str = getattr(self, f'repr_{kind.__name__}')(x, level)
                return text
        return super().repr1(x, level)

    def repr_int(self, x: int, level: int) -> str:
        """Return the text of a number, which Python refuses for thousands of digits."""
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < _MOST_BITS else f'<integer of {bits} bits>'


def brief(value: object) -> str:
    """Return the `repr` of a value, shortened if it is long, in a time that is bounded."""
    return shortened(_Brief().repr(value), _LONGEST_VALUE)


def plain(value: object) -> str:
    """Return a text as it is, and any other value as `brief`."""
    return value if isinstance(value, str) else brief(value)


def shortened(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text, its middle left out if it is longer than `longest` characters."""
    half = longest // 2
    return text if len(text) <= longest else f'{text[:half]} … {text[-half:]}'


def close_match(name: object, known: Iterable[str], resemblance: float = 0.6) -> str:
    """
    Return the known name that was probably meant; '' if there is none, or it takes too long.

    resemblance: how alike they have to be, from 0 to 1.
    """
    text, candidates = plain(name), list(known)
    if len(text) > _LONGEST_TEXT or len(candidates) > _MOST_NAMES_COMPARED:
        return ''
    return next(iter(difflib.get_close_matches(text, candidates, 1, resemblance)), '')


class ErrorCode(enum.Enum):
    """What is wrong, for programs to act on: messages are for people, and may change."""

    NAME_INVALID = 'name_invalid'
    NAME_TAKEN = 'name_taken'
    NAMESPACE_INVALID = 'namespace_invalid'
    POSE_INVALID = 'pose_invalid'
    RESOURCE_MISSING = 'resource_missing'
    RESOURCE_NOT_FOUND = 'resource_not_found'
    RESOURCE_UNREADABLE = 'resource_unreadable'


class SimBridgeError(Exception):
    """Base of all errors of this package; `code` says what is wrong where programs act on it."""

    code: ErrorCode | None = None


@contextlib.contextmanager
def coded(code: ErrorCode) -> Iterator[None]:
    """Give a code to the errors of this package that are raised within a block without one."""
    try:
        yield
    except SimBridgeError as err:
        err.code = err.code or code
        raise


class UnknownNameError(SimBridgeError, KeyError):
    """A name that does not exist was asked for."""

    def __init__(self, kind: str, name: object, known: Iterable[str], place: str = ''):
        """
        Build the message.

        kind: what was looked for, in the singular: 'joint', 'link', 'sensor' …
        name: the name as it was given.
        known: the names that would have been accepted.
        place: where it was looked for, such as "robot 'arm'".
        """
        self.kind, self.name, self.known = kind, name, list(known)
        where = f' in {shortened(place)}' if place else ''
        close = close_match(name, self.known)
        hint = f' Did you mean {close!r}?' if close else ''
        shown = ', '.join(shortened(known) for known in self.known[:_MOST_ITEMS])
        if not self.known:
            listing = f'There is no {kind} at all{where}.'
        elif len(self.known) <= _MOST_ITEMS:
            listing = f'Known: {shown}.'
        else:
            listing = f'Known, the first {_MOST_ITEMS} of {len(self.known)}: {shown}.'
        super().__init__(f'unknown {kind} {brief(name)}{where}.{hint} {listing}')

    def __str__(self) -> str:
        """Return the message itself; KeyError would show its repr."""
        return str(self.args[0])


class MalformedMessageError(SimBridgeError):
    """Bytes that came on a topic are no message of its type."""

    def __init__(self, kind: str, size: int, reason: str):
        """
        Build the message.

        kind: the type that was expected. size: how many bytes came. reason: what is wrong.
        """
        super().__init__(f'{size} bytes that are no {kind}: {reason}')


class InvalidValueError(SimBridgeError, ValueError):
    """A value is of the wrong type, size or range, or is not finite."""

    def __init__(
        self,
        what: str,
        value: object,
        expected: str,
        place: str = '',
        *,
        code: ErrorCode | None = None,
    ):
        """
        Build the message.

        what: the name of the quantity, as the user wrote it.
        value: the value given.
        expected: what would have been accepted, with its unit.
        place: where the value was given, such as "robot 'arm', joint 'elbow'".
        code: what is wrong, where programs act on it.
        """
        self.what, self.value, self.expected, self.code = what, value, expected, code
        where = f' ({shortened(place)})' if place else ''
        super().__init__(
            f'{shortened(what)} = {brief(value)}{where}: expected '
            f'{shortened(expected, _LONGEST_VALUE)}'
        )


class StateError(SimBridgeError, RuntimeError):
    """An operation does not fit the present state of the world."""


class SimulationError(SimBridgeError, RuntimeError):
    """A step could not be completed; the state before it is kept."""


class InfeasibleError(SimBridgeError, ValueError):
    """A problem has no solution; the message names what is missing."""


class RecordingError(SimBridgeError, RuntimeError):
    """A bag cannot be created, or not be written any more."""

    def __init__(self, bag: object, reason: str, messages: int | None = None):
        """
        Build the message.

        bag: the folder. reason: what is wrong. messages: how many are safely in the bag; None if
        it was never made, or it is unknown.
        """
        self.bag, self.reason, self.messages = bag, reason, messages
        kept = '' if messages is None else f'; the bag is readable and holds {messages} messages'
        super().__init__(f'recording {str(bag)!r}: {reason}{kept}')


class ReplayError(SimBridgeError, RuntimeError):
    """A bag cannot be replayed: it holds no recording of a simulator, or was made differently."""


class DamagedBagError(ReplayError):
    """A bag is not as it was written: cut off, or its bytes have changed."""

    def __init__(
        self, file: object, offset: int, problem: str, readable: str, *, is_cut_off: bool = False
    ):
        """
        Build the message.

        file: of the bag. offset: byte at which the damage begins, or the record that holds it.
        problem: what is wrong, with the offset. readable: what can still be read.
        is_cut_off: whether the file only ends too early.
        """
        self.file, self.offset, self.problem, self.readable = str(file), offset, problem, readable
        self.is_cut_off = is_cut_off
        super().__init__(f'bag {self.file!r}: {problem}; {readable}')


class MissingPackageError(SimBridgeError, ImportError):
    """A Python package that is optional is needed and not installed."""

    def __init__(self, what: str, hint: str):
        """Build the message; what: needs it. hint: how to get it."""
        super().__init__(f'{what} needs a package that this Python does not have: {hint}')


def extra_hint(extra: str) -> str:
    """Return how to install an extra of `make tools`: where pip installs, and in a clone."""
    target = ' '.join(['make tools', *{'film': ['FILM=1'], 'ray': ['RAY=1']}.get(extra, [])])
    return f'pip install "sim_bridge[{extra}]", or in a clone `{target}`'


class InterfaceBuildError(SimBridgeError, RuntimeError):
    """Message packages cannot be generated."""

    def __init__(self, reason: str):
        """Build the message; reason: what is wrong, and what helps."""
        super().__init__(f'the message packages cannot be generated: {reason}')


class MissingRosError(SimBridgeError, ImportError):
    """ROS 2 is needed and not installed."""

    def __init__(self, what: str):
        """Build the message; `what` is the command that needs ROS 2."""
        super().__init__(
            f'{what} needs ROS 2, and this Python has no rclpy. Source the setup file of a ROS 2 '
            'installation; or install the wheels on Linux x86_64: in the source folder by '
            "`pip install -e '.[ros]'`, or by `make run`, which installs them into .venv"
        )
