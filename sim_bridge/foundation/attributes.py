"""Attributes of public classes: those that are declared, and a hint for those that are not."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from sim_bridge.foundation.errors import close_match


def unknown_attribute(thing: object, name: str) -> AttributeError:
    """
    Return the error for an attribute that an object does not have, for the caller to raise.

    Its message names the attribute that was probably meant, if one is close. Names with two
    underscores in front, which Python and other packages look for by themselves, get no hint.
    """
    known = () if name.startswith('__') else [each for each in dir(thing) if each[0] != '_']
    close = close_match(name, known)
    hint = f'; did you mean {close!r}?' if close else ''
    return AttributeError(f'{type(thing).__name__} has no attribute {name!r}{hint}')


class DeclaredAttributes:
    """
    A base of classes whose objects take no attributes but the declared ones.

    Classes declare what they hold in `__slots__`, or as properties. Reading or setting anything
    else raises AttributeError with the attribute that was probably meant. `dir` lists what is for
    users: no names with an underscore in front, and none of `internal_names`.
    """

    __slots__ = ('__weakref__',)

    internal_names: ClassVar[frozenset[str]] = frozenset({'internal_names'})

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError; Python calls this for what is not found in the usual way."""
        if hasattr(type(self), name):
            # a property that raised AttributeError itself, or a slot that is empty: say so again
            object.__getattribute__(self, name)
        raise unknown_attribute(self, name)

    def __setattr__(
        self, name: str, value: object, set_it: Any = object.__setattr__
    ) -> None:
        """Set a declared attribute; set_it: found once, as this is called often."""
        try:
            set_it(self, name, value)
        except AttributeError:
            if hasattr(type(self), name):
                raise
            raise unknown_attribute(self, name) from None

    def __dir__(self) -> list[str]:
        """List the names that are for users."""
        return [name for name in object.__dir__(self)
                if name[0] != '_' and name not in self.internal_names]
