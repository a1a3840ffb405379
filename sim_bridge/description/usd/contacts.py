"""
Contact rules and surface materials of colliders.

Collision groups and filtered pairs become groups of the collision elements; a filtered pair has
one group for each of its two prims, with everything below them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations_with_replacement
from types import MappingProxyType
from typing import Any

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.usd.stage import Prim, Stage
from sim_bridge.shapes.material import ContactMaterial, Material

_FILTER = 'physics:filteredPairs'
_MATERIAL = 'PhysicsMaterialAPI'
# MuJoCo's contact dimensions from which torsional and rolling friction act; its default
_TORSION, _ROLLING, _DIMENSIONS = 4, 6, 3
# PhysX's rules for two materials; a later one comes before an earlier one
_MODES: MappingProxyType[str, Callable[[float, float], float]] = MappingProxyType(
    {'average': lambda a, b: 0.5 * (a + b), 'min': min, 'multiply': lambda a, b: a * b, 'max': max}
)
_ORDER = tuple(_MODES)


class Contacts:
    """Contact rules in one stage."""

    def __init__(self, stage: Stage, findings: Findings):
        """Prepare. findings: receives contact parameters without simulation."""
        self._stage, self._findings = stage, findings
        self._materials: dict[tuple[str, int], Material] = {}
        self._sources: dict[str, str] = {}

    def of_collider(self, prim: Prim) -> dict[str, Any]:
        """Return a collision element's material and groups."""
        found: dict[str, Any] = {'groups': self._groups(prim.path)}
        material = self.material(prim)
        if material is not None:
            found['material'] = material
        return found

    # --- groups ------------------------------------------------------------------------------

    def _groups(self, path: str) -> frozenset[str]:
        own = {f'usd {root}' for root in self._filtered if _is_below(path, root)}
        return frozenset(own | self._members.get(path, set()))

    @cached_property
    def _members(self) -> dict[str, set[str]]:
        """Collision groups by collider."""
        found: dict[str, set[str]] = {}
        for group, paths in self._stage.texts['groups']['members'].items():
            for path in paths:
                found.setdefault(str(path), set()).add(f'usd {group}')
        return found

    @cached_property
    def filtered_pairs(self) -> list[tuple[str, str]]:
        """Pairs of prim paths without collision."""
        return [
            (prim.path, target)
            for prim in self._stage.prims.values()
            for target in prim.targets.get(_FILTER, ())
        ]

    @cached_property
    def _filtered(self) -> set[str]:
        return {path for pair in (*self.filtered_pairs, *self._jointed) for path in pair}

    def _is_collider(self, path: str) -> bool:
        return path in self._stage.prims and self._stage.prims[path].has('PhysicsCollisionAPI')

    @cached_property
    def _jointed(self) -> list[tuple[str, str]]:
        """Bodies and static colliders that are connected by a joint without collision."""
        found = []
        for prim in self._stage.prims.values():
            ends = [end for end in (prim.data.get('ends') or {}).values() if end]
            if len(ends) == 2 and not prim.flag('physics:collisionEnabled', False):
                bodies = [str(end['body'] or '') for end in ends]
                paths = [body or str(end['path']) for body, end in zip(bodies, ends, strict=True)]
                # two bodies are one robot: their links are separated
                fixed = [path for body, path in zip(bodies, paths, strict=True) if not body]
                if len(fixed) == 1 and self._is_collider(fixed[0]):
                    found.append((paths[0], paths[1]))
        return found

    @cached_property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """Group pairs without collision."""
        groups = [
            (f'usd {one}', f'usd {two}') for one, two in self._stage.texts['groups']['apart']
        ]
        filtered = [(f'usd {one}', f'usd {two}') for one, two in self.filtered_pairs]
        jointed = [(f'usd {one}', f'usd {two}') for one, two in self._jointed]
        return tuple(dict.fromkeys((*groups, *filtered, *jointed)))

    # --- materials ---------------------------------------------------------------------------

    def material(self, prim: Prim) -> Material | None:
        """Return a collider's surface material; None without one."""
        path = str(prim.data.get('physics_material', ''))
        data = self._stage.material(path)
        if _MATERIAL not in data.get('apis', ()):
            return None
        dimensions = _ROLLING
        if prim.has('MjcCollisionAPI'):
            dimensions = int(prim.number('mjc:condim', _DIMENSIONS))
        if (path, dimensions) not in self._materials:
            self._materials[path, dimensions] = self._material(path, dimensions)
        return self._materials[path, dimensions]

    def _material(self, path: str, dimensions: int) -> Material:
        place = Place('Material', path)
        values = self._stage.material(path)['values']

        def number(*names: str) -> float:
            found = (values.get(name) for name in names)
            return max(0.0, next((float(x) for x in found if isinstance(x, (int, float))), 0.0))

        static, dynamic = (number(f'physics:{word}Friction') for word in ('static', 'dynamic'))
        if static != dynamic:
            message = f'one coefficient acts at rest and in motion: {dynamic:g}'
            self._findings.warning('approximated', place, message, 'staticFriction', f'{static:g}')
        if values.get('physxMaterial:compliantContactStiffness'):
            self._findings.warning(
                'not-simulated', place, 'contacts are rigid', 'compliantContactStiffness'
            )
        length = self._stage.meters
        has_torsion, has_rolling = dimensions >= _TORSION, dimensions >= _ROLLING
        torsion = number('newton:torsionalFriction', 'mjc:torsionalfriction')
        rolling = number('newton:rollingFriction', 'mjc:rollingfriction')
        name = f'usd {path}' if dimensions == _ROLLING else f'usd {path} condim {dimensions}'
        self._sources[name] = path
        return Material(
            name,
            friction=dynamic if dimensions > 1 else 0.0,
            restitution=min(1.0, number('physics:restitution')),
            spinning_friction=length * torsion if has_torsion else 0.0,
            rolling_friction=length * rolling if has_rolling else 0.0,
        )

    @property
    def materials(self) -> tuple[Material, ...]:
        """Surface materials on the colliders read so far."""
        return tuple(self._materials.values())

    def contact_materials(self) -> Iterator[tuple[str, str, ContactMaterial]]:
        """Yield the contact parameters for each two materials, by PhysX's combine modes."""
        for one, other in combinations_with_replacement(self.materials, 2):
            values: dict[str, Any] = {
                key: self._combined(mode, (one, other), key)
                for key, mode in (
                    ('friction', 'frictionCombineMode'),
                    ('spinning_friction', 'frictionCombineMode'),
                    ('rolling_friction', 'frictionCombineMode'),
                    ('restitution', 'restitutionCombineMode'),
                )
            }
            yield one.name, other.name, ContactMaterial(**values)

    def _combined(self, mode: str, pair: tuple[Material, Material], key: str) -> float:
        words = []
        for material in pair:
            values = self._stage.material(self._sources[material.name])['values']
            word = values.get(f'physxMaterial:{mode}', _ORDER[0])
            words.append(word if word in _MODES else _ORDER[0])
        rule = _MODES[max(words, key=_ORDER.index)]
        return rule(float(getattr(pair[0], key)), float(getattr(pair[1], key)))


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f'{root.rstrip("/")}/')
