"""Base classes that accept declared attributes only, and answer other names with a hint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NoReturn, overload, TYPE_CHECKING, TypeVar

from sim_bridge.foundation.errors import close_match

_Value = TypeVar('_Value')
_Given = TypeVar('_Given', contravariant=True)

# required similarity between two names, from 0 to 1
_RESEMBLANCE = 0.75

# Words newcomers try, and their replacements; the first one fully available in a class counts.
_USUAL_WORDS: Mapping[str, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        'position': (('p',), ('q',)),
        'angle': (('q',),),
        'orientation': (('R',),),
        'rotation': (('R',),),
        'pose': (('p', 'R'),),
        'velocity': (('v',), ('dq',)),
        'linear_velocity': (('v',),),
        'angular_velocity': (('w',),),
        'acceleration': (('dv',), ('ddq',)),
        'linear_acceleration': (('dv',),),
        'angular_acceleration': (('dw',),),
        'effort': (('u',),),
        'force': (('f',), ('u',)),
        'torque': (('tau',), ('u',)),
        'tau': (('u',),),
        'mass': (('m',),),
        'inertia': (('I',),),
        'center_of_mass': (('wc',),),
        'com': (('wc',), ('center_of_mass',)),
        'limit': (('lower', 'upper'),),
        'dt': (('time_step',),),
    }
)


def unknown_attribute(thing: object, name: str) -> AttributeError:
    """
    Return the error for an undeclared attribute, for the caller to raise.

    The message gives advice, or names the attributes probably meant. Names with two leading
    underscores, which Python and other packages look up by themselves, get no hint.
    """
    known = () if name.startswith('__') else [each for each in dir(thing) if each[0] != '_']
    advice = _advice(thing, name)
    meant = () if advice else _meant(name, known)
    hint = f'; did you mean {" and ".join(map(repr, meant))}?' if meant else ''
    return AttributeError(f'{type(thing).__name__} has no attribute {name!r}{advice or hint}')


class Settable(property, Generic[_Value, _Given]):
    """Property accepting more types than it returns, such as lists for arrays."""

    if TYPE_CHECKING:
        # for type checkers: as `property`, with the types of the read and of the given value
        @overload  # type: ignore[override]
        def __get__(self, owner: None, kind: type | None = None) -> property: ...
        @overload
        def __get__(self, owner: object, kind: type | None = None) -> _Value: ...
        def __get__(self, owner: object, kind: type | None = None) -> _Value | property: ...
        def __set__(self, owner: object, value: _Given) -> None: ...


class ReadOnly(Settable[_Value, NoReturn]):
    """Property without setter, in one line: a part's attribute or a function's result."""

    def __init__(self, read: str | Callable[[Any], _Value], doc: str):
        """
        Declare the property.

        read: attribute path from the object, separated by dots; or a function taking the object.
        doc: docstring.
        """
        super().__init__(attrgetter(read) if isinstance(read, str) else read)
        self.__doc__ = doc


class DeclaredAttributes:
    """
    Base class for objects that accept declared attributes only.

    Classes declare attributes in `__slots__`, or as properties. A slot without leading underscore
    is set once, by the object itself, and read-only afterwards; user-settable attributes are
    properties with setters. Setting another attribute, or reading an undeclared one, raises
    AttributeError with advice (`advice`), or with the attribute probably meant. `dir` lists
    attributes for users: no leading underscore, and not in `internal_names`.
    """

    __slots__ = ('__weakref__',)

    internal_names: ClassVar[frozenset[str]] = frozenset(
        {'advice', 'fixed_names', 'internal_names'}
    )
    fixed_names: ClassVar[frozenset[str]] = frozenset()
    """Slots that can be set only once; found by `__init_subclass__`."""
    advice: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """By attribute name: text appended to the error for reading or setting an undeclared one."""

    def __init_subclass__(cls) -> None:
        """Find the slots that are set once."""
        super().__init_subclass__()
        slots = cls.__dict__.get('__slots__', ())
        cls.fixed_names = cls.fixed_names.union(name for name in slots if name[0] != '_')

    if not TYPE_CHECKING:
        # hidden from type checkers: they would accept any attribute name
        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError; Python calls this if the usual lookup fails."""
            if hasattr(type(self), name):
                # a property raised AttributeError, or a slot is empty: raise that error again
                object.__getattribute__(self, name)
            raise unknown_attribute(self, name)

        def __setattr__(self, name: str, value: object, set_it: Any = object.__setattr__) -> None:
            """Set a declared attribute; set_it: bound as default, because this is called often."""
            if name in self.fixed_names and _is_filled(self, name):
                raise _read_only(self, name)
            try:
                set_it(self, name, value)
            except AttributeError:
                if not hasattr(type(self), name):
                    raise unknown_attribute(self, name) from None
                if _is_settable(getattr(type(self), name)):
                    # the setter itself failed
                    raise
                raise _read_only(self, name) from None

    def __delattr__(self, name: str) -> None:
        """Delete an attribute unless it is read-only."""
        if name in self.fixed_names:
            raise _read_only(self, name)
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        """List the names for users."""
        return [
            name
            for name in object.__dir__(self)
            if name[0] != '_' and name not in self.internal_names
        ]


def _meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the attributes probably meant; none if there is no similar one."""
    names = set(known)
    word = name.removeprefix('joint_')
    singular = f'{word[:-3]}y' if word.endswith('ies') else word.removesuffix('s')
    for stands in _USUAL_WORDS.get(word) or _USUAL_WORDS.get(singular, ()):
        if names.issuperset(stands):
            return stands
    close = close_match(name, names, _RESEMBLANCE)
    if close:
        return (close,)
    # prefix of one name only, such as 'damp' for 'damping'
    begun = [each for each in names if len(name) > 2 and each.startswith(name)]
    return tuple(begun) if len(begun) == 1 else ()


def _advice(thing: object, name: str) -> str:
    advice = getattr(type(thing), 'advice', {}).get(name, '')
    return f': {advice}' if advice else ''


def _read_only(thing: object, name: str) -> AttributeError:
    return AttributeError(f'{type(thing).__name__}.{name} cannot be set{_advice(thing, name)}')


def _is_filled(thing: object, name: str) -> bool:
    """Return whether a slot has a value."""
    try:
        # not getattr: it would compute a hint, and objects are created often
        getattr(type(thing), name).__get__(thing)
    except AttributeError:
        return False
    return True


def _is_settable(declared: object) -> bool:
    if isinstance(declared, property):
        return declared.fset is not None
    return hasattr(declared, '__set__')
