"""
OpenPLX scene types, for annotations.

`openplx` imports the modules with these annotations and is imported with the first scene only.
This module names its classes without an import at run time.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.description.openplx.mapping.records import MappedScene as MappedScene
    from sim_bridge.world.openplx import OpenPlxScene as OpenPlxScene
    from sim_bridge.world.openplx import SceneRecord as SceneRecord
else:
    MappedScene = OpenPlxScene = SceneRecord = Any
