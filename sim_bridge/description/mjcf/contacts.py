"""
Contact rules and surface materials of geoms.

Two geoms collide if contype of one and conaffinity of the other share a bit, or if a contact pair
names both. Geoms with equal rules form a collision group. Parents and children, and excluded
bodies, are pairs of links.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from sim_bridge.description.collision_bits import group_of
from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.shapes.material import ContactMaterial, Material

# contact dimensions from which torsional and rolling friction act
_TORSION, _ROLLING = 4, 6
_MASKS, _BITS = ('contype', 'conaffinity'), 0xFFFFFFFF


class Contacts:
    """Contact rules in one model."""

    def __init__(self, model: CompiledModel, notes: Notes):
        """Read the rules; name contact parameters without simulation."""
        self._model, self._notes = model, notes
        self._pairs = list(
            zip(model['pair_geom1'].tolist(), model['pair_geom2'].tolist(), strict=True)
        )
        self._paired = {geom for pair in self._pairs for geom in pair}
        self._materials: dict[int, Material] = {}
        self._groups: dict[int, str] = {}

    def collides(self, geom: int) -> bool:
        """Return whether any rule lets a geom collide."""
        model = self._model
        bits = model['geom_contype'][geom] or model['geom_conaffinity'][geom]
        return bool(bits) or geom in self._paired

    def of_geom(self, geom: int) -> dict[str, Any]:
        """Return the material and the collision group for a geom's collision element."""
        if not self.collides(geom):
            return {}
        groups = frozenset({self._group_names[geom]})
        return {'material': self.material(geom), 'groups': groups}

    @cached_property
    def _group_names(self) -> dict[int, str]:
        names = {}
        for geom in filter(self.collides, range(self._model.count('geom'))):
            name = group_of(*(int(self._model[f'geom_{each}'][geom]) & _BITS for each in _MASKS))
            # the rules of a pair belong to its two geoms alone
            own = f' {self._model.name("geom", geom)}' if geom in self._paired else ''
            names[geom] = f'{name}{own}'
        return names

    @cached_property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """Group pairs without collision."""
        shown = {name: geom for geom, name in self._group_names.items()}
        found = []
        for one, other in combinations_with_replacement(shown, 2):
            if not self._may_collide(shown[one], shown[other]):
                found.append((one, other))
        return tuple(found)

    def _may_collide(self, one: int, other: int) -> bool:
        types, affinities = self._model['geom_contype'], self._model['geom_conaffinity']
        if types[one] & affinities[other] or types[other] & affinities[one]:
            return True
        return (one, other) in self._pairs or (other, one) in self._pairs

    def separated(self) -> Iterator[tuple[int, int]]:
        """Yield the body pairs without contact: excluded ones, parents and children."""
        model = self._model
        # two body numbers in one
        for signature in model['exclude_signature'].tolist():
            yield int(signature) >> 16, int(signature) & 0xFFFF
        welded = model['body_weldid'].tolist()
        parents = model['body_parentid'].tolist()
        members: dict[int, list[int]] = {}
        for body, head in enumerate(welded):
            members.setdefault(head, []).append(body)
        is_filtered = 'filterparent' not in model.texts['disabled']
        for head, bodies in members.items():
            yield from combinations(bodies, 2)
            above = welded[parents[head]]
            if head == 0 or above == 0 or not is_filtered:
                continue
            for body in bodies:
                for other in members[above]:
                    yield other, body

    def material(self, geom: int) -> Material:
        """Return a geom's surface material."""
        if geom not in self._materials:
            self._materials[geom] = self._material(geom)
        return self._materials[geom]

    def _material(self, geom: int) -> Material:
        model = self._model
        dimensions = int(model['geom_condim'][geom])
        sliding, torsional, rolling = map(float, model['geom_friction'][geom])
        words = f'{sliding:g} {torsional:g} {rolling:g} condim {dimensions}'
        priority = int(model['geom_priority'][geom])
        own = f' {model.name("geom", geom)}' if geom in self._paired else ''
        more = f' priority {priority}' if priority else ''
        friction = _friction((sliding, torsional, rolling), dimensions)
        return Material(f'mjcf {words}{more}{own}', **friction)

    @property
    def materials(self) -> tuple[Material, ...]:
        """Surface materials for all colliding geoms."""
        found = {self.material(geom).name: self.material(geom) for geom in self._group_names}
        return tuple(found.values())

    def contact_materials(self) -> Iterator[tuple[str, str, ContactMaterial]]:
        """
        Yield MuJoCo's contact parameters for each two materials.

        The greater number acts, or the number with the higher priority.
        """
        shown = {self.material(geom).name: geom for geom in self._group_names}
        named = {frozenset((self.material(a).name, self.material(b).name)) for a, b in self._pairs}
        model = self._model
        for one, other in combinations_with_replacement(shown, 2):
            if frozenset((one, other)) in named:
                continue
            pair = [shown[one], shown[other]]
            priorities = [int(model['geom_priority'][geom]) for geom in pair]
            if priorities[0] != priorities[1]:
                pair = [pair[priorities.index(max(priorities))]]
            friction = model['geom_friction'][pair].max(axis=0)
            dimensions = int(model['geom_condim'][pair].max())
            yield one, other, ContactMaterial(**_friction(friction, dimensions))
        yield from self._pair_materials()

    def _pair_materials(self) -> Iterator[tuple[str, str, ContactMaterial]]:
        model = self._model
        for number, pair in enumerate(self._pairs):
            one, other = (self.material(geom).name for geom in pair)
            sliding, across, torsional, rolling, _ = map(float, model['pair_friction'][number])
            friction = _friction((sliding, torsional, rolling), int(model['pair_dim'][number]))
            if across != sliding and friction['friction']:
                friction['friction2'] = across
            yield one, other, ContactMaterial(**friction)


def _friction(numbers: tuple[float, float, float] | np.ndarray, dimensions: int) -> dict[str, Any]:
    """Return friction by its names here. numbers: sliding, torsional [m], rolling [m]."""
    sliding, torsional, rolling = map(float, numbers)
    return {
        'friction': sliding if dimensions > 1 else 0.0,
        'spinning_friction': torsional if dimensions >= _TORSION else 0.0,
        'rolling_friction': rolling if dimensions >= _ROLLING else 0.0,
    }
