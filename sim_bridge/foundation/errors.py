"""
All errors raised on purpose by `sim_bridge`.

Each class builds its message from facts: object, value, place and accepted values. Catch
`SimBridgeError` to catch them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import contextlib
import difflib
import enum
import reprlib

from sim_bridge.foundation.deprecation import warn_renamed
from sim_bridge.foundation.terminal import visible

# Values and names come from files and messages and may have any size. Long ones are shortened:
# a million numbers per log line, once a second, would fill a disk.
_LONGEST_TEXT = 300
_MOST_ITEMS = 40
_MOST_NAMES_COMPARED = 1000
_MOST_PARTS = 400
_LONGEST_VALUE = 2000
_MOST_BITS = 1000


class _Brief(reprlib.Repr):
    """Representation of values with any size, also with repeated parts."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 8
        self.maxlist = self.maxtuple = self.maxdict = self.maxarray = _MOST_ITEMS
        self.maxstring = self.maxother = self.maxlong = _LONGEST_TEXT
        self._left = _MOST_PARTS

    def repr1(self, x: object, level: int) -> str:
        """Return a part's text; instances of subclasses are shown like their base class."""
        self._left -= 1
        if self._left < 0:
            return '…'
        for kind in (str, list, tuple, dict, int):
            if isinstance(x, kind) and type(x) is not bool:
                text: str = getattr(self, f'repr_{kind.__name__}')(x, level)
                return text
        return super().repr1(x, level)

    def repr_int(self, x: int, level: int) -> str:
        """Return a number's text; Python itself refuses thousands of digits."""
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < _MOST_BITS else f'<integer of {bits} bits>'


def brief(value: object) -> str:
    """Return a value's `repr`, shortened if it is long, in bounded time."""
    return shortened(_Brief().repr(value), _LONGEST_VALUE)


def plain(value: object) -> str:
    """Return a text unchanged, and any other value as `brief`."""
    return value if isinstance(value, str) else brief(value)


def shortened(text: str, longest: int = _LONGEST_TEXT) -> str:
    """Return a text; beyond `longest` characters its middle is omitted."""
    half = longest // 2
    return text if len(text) <= longest else f'{text[:half]} … {text[-half:]}'


def close_match(name: object, known: Iterable[str], resemblance: float = 0.6) -> str:
    """
    Return the known name probably meant; '' if there is none, or the search takes too long.

    resemblance: required similarity, from 0 to 1.
    """
    text, candidates = plain(name), list(known)
    if len(text) > _LONGEST_TEXT or len(candidates) > _MOST_NAMES_COMPARED:
        return ''
    return next(iter(difflib.get_close_matches(text, candidates, 1, resemblance)), '')


class ErrorCode(enum.Enum):
    """Error category for programs; messages are for people, and may change."""

    NAME_INVALID = 'name_invalid'
    NAME_TAKEN = 'name_taken'
    NAMESPACE_INVALID = 'namespace_invalid'
    POSE_INVALID = 'pose_invalid'
    RESOURCE_MISSING = 'resource_missing'
    RESOURCE_NOT_FOUND = 'resource_not_found'
    RESOURCE_UNREADABLE = 'resource_unreadable'


class SimBridgeError(Exception):
    """Base of all errors in this package; `code`: category, for errors handled by programs."""

    code: ErrorCode | None = None

    def __str__(self) -> str:
        """Return the message; names in it cannot control a terminal."""
        return visible(super().__str__())


@contextlib.contextmanager
def coded(code: ErrorCode) -> Iterator[None]:
    """Give a code to errors from this package raised in a block without one."""
    try:
        yield
    except SimBridgeError as err:
        err.code = err.code or code
        raise


class UnknownNameError(SimBridgeError, KeyError):
    """Unknown name."""

    def __init__(self, kind: str, name: object, known: Iterable[str], place: str = ''):
        """
        Build the message.

        kind: kind of object, in the singular: 'joint', 'link', 'sensor' …
        name: given name.
        known: accepted names.
        place: context, such as "robot 'arm'".
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
        return visible(str(self.args[0]))


class MalformedMessageError(SimBridgeError):
    """Received bytes do not form a message of the topic's type."""

    def __init__(self, kind: str, size: int, reason: str):
        """
        Build the message.

        kind: expected message type. size: number of received bytes. reason: the defect.
        """
        super().__init__(f'{size} bytes are not a {kind}: {reason}')


class InvalidValueError(SimBridgeError, ValueError):
    """A value has a wrong type, size or range, or is not finite."""

    def __init__(
        self,
        quantity: str,
        value: object,
        expected: str,
        place: str = '',
        *,
        code: ErrorCode | None = None,
    ):
        """
        Build the message.

        quantity: name of the value, as written by the user.
        value: given value.
        expected: accepted values, with unit.
        place: context, such as "robot 'arm', joint 'elbow'".
        code: category, for errors handled by programs.
        """
        self.quantity, self.value, self.expected, self.code = quantity, value, expected, code
        where = f' ({shortened(place)})' if place else ''
        super().__init__(
            f'{shortened(quantity)} = {brief(value)}{where}: expected '
            f'{shortened(expected, _LONGEST_VALUE)}'
        )

    @property
    def what(self) -> str:
        """The quantity, by its name before 0.2."""
        warn_renamed('InvalidValueError.what', 'quantity')
        return self.quantity


class StateError(SimBridgeError, RuntimeError):
    """An operation is impossible in the present state of the world."""


class SimulationError(SimBridgeError, RuntimeError):
    """A step could not be completed; the state before it is kept."""


class InfeasibleError(SimBridgeError, ValueError):
    """A problem has no solution; the message names the reason."""


class RecordingError(SimBridgeError, RuntimeError):
    """A bag cannot be created, or can no longer be written."""

    def __init__(self, bag: object, reason: str, messages: int | None = None):
        """
        Build the message.

        bag: folder. reason: the defect. messages: number safely stored in the bag; None if the bag
        was never created, or if unknown.
        """
        self.bag, self.reason, self.messages = bag, reason, messages
        kept = '' if messages is None else f'; the bag is readable and holds {messages} messages'
        super().__init__(f'recording {str(bag)!r}: {reason}{kept}')


class OutputError(SimBridgeError, OSError):
    """The standard output cannot be written."""

    def __init__(self, cause: OSError):
        """Build the message; cause: the system's error."""
        super().__init__(cause.errno, f'the output cannot be written: {cause.strerror}')

    def __str__(self) -> str:
        """Return the message."""
        return str(self.strerror)


class ReplayError(SimBridgeError, RuntimeError):
    """A bag cannot be replayed: no simulator recording, or recorded in a different way."""


class DamagedBagError(ReplayError):
    """A bag differs from the written data: cut off, or with changed bytes."""

    def __init__(
        self, file: object, offset: int, problem: str, readable: str, *, is_cut_off: bool = False
    ):
        """
        Build the message.

        file: damaged file. offset: first damaged byte, or the damaged record's offset. problem:
        the defect, with the offset. readable: parts that are still readable. is_cut_off: whether
        the file only ends too early.
        """
        self.file, self.offset, self.problem, self.readable = str(file), offset, problem, readable
        self.is_cut_off = is_cut_off
        super().__init__(f'bag {self.file!r}: {problem}; {readable}')


class MissingPackageError(SimBridgeError, ImportError):
    """An optional Python package is needed but not installed."""

    def __init__(self, feature: str, hint: str):
        """Build the message; feature: its name. hint: how to install the package."""
        super().__init__(f'{feature} needs a package that this Python does not have: {hint}')


def extra_hint(extra: str) -> str:
    """Return how to install an extra of `make tools`: with pip, and in a clone."""
    target = ' '.join(['make tools', *{'film': ['FILM=1'], 'ray': ['RAY=1']}.get(extra, [])])
    return f'pip install "sim_bridge[{extra}]", or in a clone `{target}`'


class InterfaceBuildError(SimBridgeError, RuntimeError):
    """Message packages cannot be generated."""

    def __init__(self, reason: str):
        """Build the message; reason: the defect, and a remedy."""
        super().__init__(f'the message packages cannot be generated: {reason}')


class MissingRosError(SimBridgeError, ImportError):
    """ROS 2 is needed but not installed."""

    def __init__(self, command: str):
        """Build the message; command: the command's name."""
        super().__init__(
            f'{command} needs ROS 2, and this Python has no rclpy. Source the setup file of a ROS '
            '2 installation; or install the wheels on Linux x86_64: in the source folder by '
            "`pip install -e '.[ros]'`, or by `make run`, which installs them into .venv"
        )
