"""
A robot simulator for ROS 2.

Input: URDF. Output: the topics of a real robot's drivers. The stepper is written in-house and
works like ODE. Public names are imported at their first use, so commands without a simulation
start at once. `__init__.pyi` lists the public names, one a line, also for type checkers and
editors.
"""

from __future__ import annotations

import os
import sys

with open(os.path.join(__path__[0], '__init__.pyi'), encoding='utf-8') as _names:
    _MODULE_OF = {line.split()[-1]: line.split()[1] for line in _names if line.startswith('from ')}

__all__ = [*_MODULE_OF]  # noqa: PLE0604 — the names are texts

# deprecated name: new name
_RENAMED = {'MadeContact': 'UserContact', 'contact': 'contact_problems'}


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    if name in _RENAMED:
        from sim_bridge.foundation.deprecation import warn_renamed

        warn_renamed(f'{__name__}.{name}', f'{__name__}.{_RENAMED[name]}')
        return getattr(sys.modules[__name__], _RENAMED[name])
    if name not in _MODULE_OF:
        from sim_bridge.foundation.errors import close_match

        close = '' if name.startswith('__') else close_match(name, __all__)
        hint = f'; did you mean {close!r}?' if close else ''
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}{hint}')
    if _MODULE_OF[name] == __name__:
        value = __import__(f'{__name__}.{name}', fromlist=[''])
    else:
        # as `from module import name`, which imports modules too
        value = getattr(__import__(_MODULE_OF[name], fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
