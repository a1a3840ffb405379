"""Attributes of public classes: those that are declared, and a hint for those that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NoReturn, overload, TYPE_CHECKING, TypeVar

from sim_bridge.foundation.errors import close_match

_Value = TypeVar('_Value')
_Given = TypeVar('_Given', contravariant=True)

# how much two names have to resemble each other, from 0 to 1
_RESEMBLANCE = 0.75

# Words that newcomers try, and what stands for them; the first of which a class has all counts.
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
    Return the error for an attribute that an object does not have, for the caller to raise.

    Its message says what to do instead, or names the attributes that were probably meant. Names
    with two underscores in front, which Python and other packages look for by themselves, get no
    hint.
    """
    known = () if name.startswith('__') else [each for each in dir(thing) if each[0] != '_']
    advice = _advice(thing, name)
    meant = () if advice else _meant(name, known)
    hint = f'; did you mean {" and ".join(map(repr, meant))}?' if meant else ''
    return AttributeError(f'{type(thing).__name__} has no attribute {name!r}{advice or hint}')


class Settable(property, Generic[_Value, _Given]):
    """A property that may take other types than it returns, as lists where it returns arrays."""

    if TYPE_CHECKING:
        # what `property` does anyway, with the types of the values
        @overload  # type: ignore[override]
        def __get__(self, owner: None, kind: type | None = None) -> property: ...
        @overload
        def __get__(self, owner: object, kind: type | None = None) -> _Value: ...
        def __get__(self, owner: object, kind: type | None = None) -> _Value | property: ...
        def __set__(self, owner: object, value: _Given) -> None: ...


class ReadOnly(Settable[_Value, NoReturn]):
    """A property without a setter, in one line: an attribute of a part, or a function's result."""

    def __init__(self, read: str | Callable[[Any], _Value], doc: str):
        """
        Declare the property.

        read: the attribute, by its names from the object on, with dots between them; or a function
        of the object. doc: the docstring.
        """
        super().__init__(attrgetter(read) if isinstance(read, str) else read)
        self.__doc__ = doc


class DeclaredAttributes:
    """
    A base of classes whose objects take no attributes but the declared ones.

    Classes declare what they hold in `__slots__`, or as properties. A slot without an underscore
    in front is set once, by the object itself, and read-only from then on; what users may change
    are properties with setters. Setting anything else, or reading what is not declared, raises
    AttributeError with what to do instead (`advice`), or with the attribute that was probably
    meant. `dir` lists what is for users: no names with an underscore in front, and none of
    `internal_names`.
    """

    __slots__ = ('__weakref__',)

    internal_names: ClassVar[frozenset[str]] = frozenset(
        {'advice', 'fixed_names', 'internal_names'}
    )
    fixed_names: ClassVar[frozenset[str]] = frozenset()
    """The slots that are set once; found by itself."""
    advice: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """What to do instead of reading or setting an attribute, by its name."""

    def __init_subclass__(cls) -> None:
        """Find the slots that are set once."""
        super().__init_subclass__()
        slots = cls.__dict__.get('__slots__', ())
        cls.fixed_names = cls.fixed_names.union(name for name in slots if name[0] != '_')

    if not TYPE_CHECKING:
        # by these, type checkers would take any name for an attribute
        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError; Python calls this for what is not found in the usual way."""
            if hasattr(type(self), name):
                # a property that itself raised AttributeError, or an empty slot: say so again
                object.__getattribute__(self, name)
            raise unknown_attribute(self, name)

        def __setattr__(self, name: str, value: object, set_it: Any = object.__setattr__) -> None:
            """Set a declared attribute; set_it: found once, as this is called often."""
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
        """Delete what is not read-only."""
        if name in self.fixed_names:
            raise _read_only(self, name)
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        """List the names that are for users."""
        return [
            name
            for name in object.__dir__(self)
            if name[0] != '_' and name not in self.internal_names
        ]


def _meant(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the attributes that were probably meant; none where nothing is close."""
    names = set(known)
    word = name.removeprefix('joint_')
    singular = f'{word[:-3]}y' if word.endswith('ies') else word.removesuffix('s')
    for stands in _USUAL_WORDS.get(word) or _USUAL_WORDS.get(singular, ()):
        if names.issuperset(stands):
            return stands
    close = close_match(name, names, _RESEMBLANCE)
    if close:
        return (close,)
    # a beginning of one name only, as 'damp' is of 'damping'
    begun = [each for each in names if len(name) > 2 and each.startswith(name)]
    return tuple(begun) if len(begun) == 1 else ()


def _advice(thing: object, name: str) -> str:
    advice = getattr(type(thing), 'advice', {}).get(name, '')
    return f': {advice}' if advice else ''


def _read_only(thing: object, name: str) -> AttributeError:
    return AttributeError(f'{type(thing).__name__}.{name} cannot be set{_advice(thing, name)}')


def _is_filled(thing: object, name: str) -> bool:
    """Return whether a slot holds anything yet."""
    try:
        # not by getattr, which would look for a hint: objects are made often
        getattr(type(thing), name).__get__(thing)
    except AttributeError:
        return False
    return True


def _is_settable(declared: object) -> bool:
    if isinstance(declared, property):
        return declared.fset is not None
    return hasattr(declared, '__set__')
