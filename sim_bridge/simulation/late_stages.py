"""
Step stages that stay unused until geometries come close.

A world begins to step without them, unless they are compiled already. The step first needing
one says so before it changes anything; then they are compiled, and the step begins again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sim_bridge.compiler.build import missing
from sim_bridge.compiler.stage import Stage
from sim_bridge.compiler.unit import Unit
from sim_bridge.engine.data.collision_scratch import CollisionScratch, PairCount
from sim_bridge.engine.data.world_table import Handle

# by the pairs within reach calling them; contact solving comes as a whole or not at all
_GROUPS = {
    PairCount.PAIRS: ('contact', 'narrow', 'refine', 'hybrid', 'newton', 'share'),
    PairCount.CONVEX_PAIRS: ('detect_convex',),
    PairCount.SURFACE_PAIRS: ('detect_surface',),
    PairCount.HOLLOW_PAIRS: ('detect_hollow',),
    PairCount.LINE_PAIRS: ('detect_line',),
}


def early_stages(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    """Return the stages for a world's first steps, by option."""
    late = {name for _, group in _groups(stages) for name in group}
    return {name: stage for name, stage in stages.items() if name not in late}


def standing_stages(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    """Return the stages for simple shapes touching planes, by option."""
    contacts = {name: stages[name] for name in _GROUPS[PairCount.PAIRS] if name in stages}
    return contacts | early_stages(stages)


def compiled_stages(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    """Return the early stages, and the compiled late ones, by option."""
    found = early_stages(stages)
    for _, group in _groups(stages):
        if not missing(stage.unit for stage in group.values()):
            found |= group
    return found


def close_units(stages: Mapping[str, Stage], handle: Handle) -> list[Unit]:
    """Return the units for the late stages called by the last step's pairs."""
    counts = handle.part(CollisionScratch).counts
    return [
        stage.unit
        for count, group in _groups(stages)
        if counts[count] > 0
        for stage in group.values()
    ]


def _groups(stages: Mapping[str, Stage]) -> Iterator[tuple[PairCount, dict[str, Stage]]]:
    for count, names in _GROUPS.items():
        # user contacts come without pairs
        if count != PairCount.PAIRS or 'user_contacts' not in stages:
            yield count, {name: stages[name] for name in names if name in stages}
