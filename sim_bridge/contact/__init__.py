"""Former name of `sim_bridge.contact_problems`; deprecated."""

from importlib import import_module
from pkgutil import iter_modules
import sys

from sim_bridge import contact_problems
from sim_bridge.contact_problems import *  # noqa: F403
from sim_bridge.foundation.deprecation import warn_renamed

__all__ = contact_problems.__all__

warn_renamed(__name__, contact_problems.__name__)
# the same modules, not copies, whose classes would be others
for _module in iter_modules(contact_problems.__path__):
    sys.modules[f'{__name__}.{_module.name}'] = globals()[_module.name] = import_module(
        f'{contact_problems.__name__}.{_module.name}'
    )
