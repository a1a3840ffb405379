"""
A world's materials, and contact materials for their pairs.

Implicit rules, as in AGX Dynamics and, for the first two, in Choreonoid:

    friction, rolling, spinning       sqrt(a b)
    restitution                       sqrt(a b)           (1 - viscosity, AGX's bulk viscosity)
    stiffness (Young's modulus)       a b / (a + b)
    damping                           max(a, b)
    adhesion                          a + b, resting with the overlap min(a, b)
    slip (AGX's surface viscosity)    a + b
    contact reduction                 a and b
    surface layer                     max(a, b)
    greatest correcting velocity      min(a, b)

A library's contact material overrides these rules (see `materials`); an explicit
`ContactMaterial` overrides both. Fields that are None override nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
import math
from typing import Any, cast

import numpy as np

from sim_bridge.engine.data import contact_materials as law
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import ByName, counted, free_name
from sim_bridge.foundation.validation import instance_of
from sim_bridge.shapes.friction_direction import FrictionDirection
from sim_bridge.shapes.friction_functions import FrictionFunction
from sim_bridge.shapes.material import ContactMaterial, DEFAULT, FRICTION_MODELS, Material, SOLVERS

Pair = tuple[str, str]
"""Names of two materials, in the order of the `set_contact_material` call."""
SavedTable = tuple[Mapping[str, Material], Mapping[Pair, ContactMaterial]]
"""Materials by name, and contact materials."""

Locate = Callable[[FrictionDirection], tuple[int, Sequence[float]]]
"""Returns the engine's body index of a direction, -1 for the world, and the axis (3,) in it."""

# share of a penetration that one step corrects (ODE's ERP)
_ERP = 0.2
# fields for a pair of geometries only; a user contact cannot have them
_OF_PAIRS = {
    'adhesion': law.ADHERES,
    'direction': law.DIRECTED,
    'friction_model': law.WEIGHED | law.CUSTOM,
    'depth_factor': law.DEEP,
    'reduce': law.REDUCED,
    'contact_area': law.SPREADS,
}
_NO_LAWS = np.zeros((0, law.MATERIAL_LAW_SIZE))
# defaults for contact reduction and for the contact area approach [m]
_BINS, _REST_LENGTHS = 3, (0.0005, 0.05)
# gravity in box friction, whatever the world's gravity [m/s²]
_GRAVITY = 9.80665
# finite bound for coefficients: the solvers multiply coefficients by forces that may be 0
_STICKS = 1e6


def combine(a: Material, b: Material, erp: float = _ERP, cfm: float = 0.0) -> ContactMaterial:
    """Combine two materials into their contact material by the implicit rules."""
    overlaps = [m.adhesive_overlap for m in (a, b) if m.adhesive_overlap is not None]
    adhesion = a.adhesion + b.adhesion
    overlap = min(overlaps, default=0.0) if adhesion > 0.0 else 0.0
    stiffness = _in_series(a.youngs_modulus, b.youngs_modulus)
    time = max(a.damping, b.damping)
    slip = a.slip + b.slip
    return ContactMaterial(
        friction=_mean(a.friction, b.friction),
        friction2=_mean(a.second_friction, b.second_friction),
        friction_model='cone',
        rolling_friction=_mean(a.rolling_friction, b.rolling_friction),
        spinning_friction=_mean(a.spinning_friction, b.spinning_friction),
        restitution=_mean(a.restitution, b.restitution),
        bounce_velocity=0.0,
        erp=erp,
        cfm=cfm,
        slip=slip,
        slip2=slip,
        motion=0.0,
        motion2=0.0,
        motion_normal=0.0,
        surface_layer=max(a.surface_layer, b.surface_layer),
        adhesive_overlap=overlap,
        max_correcting_velocity=min(a.max_correcting_velocity, b.max_correcting_velocity),
        adhesion=adhesion,
        stiffness=stiffness,
        damping=time * stiffness if math.isfinite(stiffness) else 0.0,
        reduce=a.reduce and b.reduce,
        bins=_BINS,
        contact_area=False,
        min_rest_length=_REST_LENGTHS[0],
        max_rest_length=_REST_LENGTHS[1],
    )


def _overridden(complete: ContactMaterial, by: ContactMaterial) -> ContactMaterial:
    """Return a complete contact material, overridden by another one's fields other than None."""
    values = {
        each.name: getattr(by, each.name)
        for each in fields(by)
        if getattr(by, each.name) is not None
    }
    for one, other in (('friction', 'friction2'), ('slip', 'slip2')):
        if one in values:
            values.setdefault(other, values[one])
    return replace(complete, **values)


def _library_contact(a: Material, b: Material) -> ContactMaterial | None:
    """
    Return the contact material from either material's library, else None.

    The library of the material with the alphabetically first name is preferred.
    """
    first, second = sorted((a, b), key=lambda material: material.name)
    for one, other in ((first, second), (second, first)):
        for kind, contact in one.contacts:
            if kind == other.kind:
                return contact
    return None


def _of_world_alone(direction: FrictionDirection) -> tuple[int, Sequence[float]]:
    """Return a direction's body index and axis in a world without robots."""
    if direction.robot is not None:
        raise UnknownNameError('robot', direction.robot, ())
    return -1, direction.axis


class MaterialTable(DeclaredAttributes, Mapping[str, Material]):
    """A world's materials by name, and contact materials for their pairs."""

    __slots__ = ('_explicit', '_functions', '_locate', '_materials', '_on_change', '_softness')
    internal_names = DeclaredAttributes.internal_names | {
        'are_directed',
        'forget_frames',
        'friction_functions',
        'law_of',
        'may_yield',
        'number',
        'restore',
        'save',
        'pair_laws',
        'take',
        'take_back',
        'under_free_name',
    }

    def __init__(
        self,
        on_change: Callable[[], None] = lambda: None,
        locate: Locate = _of_world_alone,
        softness: Callable[[], tuple[float, float]] = lambda: (_ERP, 0.0),
    ):
        """
        Start with the default material.

        on_change: called after every change. locate: see `Locate`. softness: returns the default
        erp and cfm of contacts.
        """
        self._locate, self._softness = locate, softness
        self._functions: dict[int, FrictionFunction] = {}
        self._materials = ByName('material', '', {DEFAULT: Material(DEFAULT)})
        self._explicit: dict[Pair, ContactMaterial] = {}
        self._on_change = on_change

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the data for a pickle or copy: the same materials, without a world."""
        return _table_of, (self.save(),)

    def __repr__(self) -> str:
        """Show the names."""
        pairs = f', {counted(len(self._explicit), "contact material")}' if self._explicit else ''
        return f'<MaterialTable: {", ".join(self)}{pairs}>'

    def __getitem__(self, name: str) -> Material:
        """Return a material by name; raises UnknownNameError."""
        return self._materials[name]

    def __contains__(self, name: object) -> bool:
        """Return whether a material has this name."""
        return name in self._materials

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in ascending material number."""
        return iter(self._materials)

    def __len__(self) -> int:
        """Count the materials."""
        return len(self._materials)

    def add(self, material: Material) -> Material:
        """
        Add a material, or replace the one with the same name.

        Raises InvalidValueError if the argument is not a Material.
        """
        instance_of('material', material, Material, 'a Material')
        if self._materials.get(material.name) != material:
            with self._changing():
                self._materials[material.name] = material
        return material

    def take(self, material: Material | str | None) -> Material:
        """
        Return the material for a name, a Material (added if new) or None (the default).

        Raises UnknownNameError for an unknown name, InvalidValueError for a Material whose name
        belongs to a different one.
        """
        meant = self._meant(material)
        return meant if meant.name in self._materials else self.add(meant)

    def _meant(self, material: Material | str | None) -> Material:
        """Return the material like `take`, with its errors, but add nothing."""
        if material is not None and not isinstance(material, (Material, str)):
            raise InvalidValueError('material', material, 'a Material or the name of one')
        if not isinstance(material, Material):
            return self[DEFAULT if material is None else material]
        known = self._materials.get(material.name)
        if known is not None and known != material:
            raise InvalidValueError(
                'material',
                material,
                f'another name, since {known} is in this world; or `materials.add` to replace it',
            )
        return material

    def number(self, material: Material | str | None) -> int:
        """Return a material's number; arguments and errors as in `take`."""
        name = self.take(material).name
        return list(self._materials).index(name)

    def under_free_name(self, material: Material) -> Material:
        """Return the material, renamed with a number if a different material has its name."""

        def is_taken(name: str) -> bool:
            return self._materials.get(name) not in (None, replace(material, name=name))

        return replace(material, name=free_name(material.name, is_taken))

    def save(self) -> SavedTable:
        """Return the snapshot data for `restore`."""
        return dict(self._materials), dict(self._explicit)

    def restore(self, saved: SavedTable) -> None:
        """Restore a state from `save`."""
        if saved != (self._materials, self._explicit):
            with self._changing():
                self._materials = ByName('material', '', saved[0])
                self._explicit = dict(saved[1])

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Report a change, or undo it if anything is raised."""
        materials, explicit = self.save()
        try:
            yield
            self._on_change()
        except BaseException:
            self._materials, self._explicit = ByName('material', '', materials), dict(explicit)
            raise

    def take_back(self, count: int) -> None:
        """Remove the last added materials, so that `count` remain."""
        for name in list(self._materials)[count:]:
            del self._materials[name]

    def set_contact_material(
        self, a: Material | str, b: Material | str, contact_material: ContactMaterial | None
    ) -> None:
        """
        Set the contact material for two materials, or for a material with itself.

        It holds in both orders; the order matters only for surface motion, see `ContactMaterial`.
        contact_material: None restores the implicit rules. New materials are added. Raises as
        `take`, and UnknownNameError for a direction with a missing robot or link.
        """
        if contact_material is not None and not isinstance(contact_material, ContactMaterial):
            raise InvalidValueError(
                'contact_material', contact_material, 'a ContactMaterial or None'
            )
        if contact_material is not None and contact_material.direction is not None:
            self._locate(_direction(contact_material))
        first, second = self._meant(a), self._meant(b)
        if first.name == second.name and first != second:
            raise InvalidValueError('b', second, f'a name other than the name of {first}')
        with self._changing():
            pair = self.take(first).name, self.take(second).name
            for known in (pair, pair[::-1]):
                self._explicit.pop(known, None)
            if contact_material is not None:
                self._explicit[pair] = contact_material

    def contact_material(self, a: Material | str, b: Material | str) -> ContactMaterial:
        """Return the complete contact material for a pair in either order; raises as `take`."""
        first, second = self._meant(a), self._meant(b)
        implicit = combine(first, second, *self._softness())
        known = _library_contact(first, second)
        if known is not None:
            implicit = _overridden(implicit, known)
        explicit = self._explicit.get((first.name, second.name))
        if explicit is None:
            explicit = self._explicit.get((second.name, first.name))
            if explicit is None:
                return implicit
            if explicit.motion is not None:
                # the second surface's velocity relative to the first
                explicit = replace(explicit, motion=-explicit.motion)
        return _overridden(implicit, explicit)

    def law_of(self, contact_material: ContactMaterial) -> np.ndarray:
        """
        Return the engine's row for a user contact's contact material.

        Fields that are None take their values from the contact of two default materials. Raises
        InvalidValueError for fields that concern several contacts at once.
        """
        default = self[DEFAULT]
        complete = _overridden(combine(default, default, *self._softness()), contact_material)
        bits = _refinements(complete)
        only_of_pairs = [name for name, each in _OF_PAIRS.items() if bits & each]
        only_of_pairs += ['solver'] if complete.solver is not None else []
        for name in only_of_pairs:
            raise InvalidValueError(
                name,
                getattr(complete, name),
                'None: a user contact cannot have it',
                'contact material',
            )
        return _law_row(complete)

    @property
    def are_directed(self) -> bool:
        """Whether any friction direction is fixed to a link."""
        return any(contact.direction is not None for contact in self._explicit.values())

    @property
    def may_yield(self) -> bool:
        """Whether a contact between any two materials can be compliant."""
        return (
            self._softness()[1] > 0.0
            or any(math.isfinite(each.youngs_modulus) for each in self._materials.values())
            or any(each.contacts for each in self._materials.values())
            or any(bool(each.cfm) or _is_elastic(each) for each in self._explicit.values())
        )

    @property
    def friction_functions(self) -> Mapping[int, FrictionFunction]:
        """Friction functions by contact law row in the last `pair_laws`."""
        return self._functions

    def forget_frames(self, robot: str) -> None:
        """Remove the friction directions fixed to a robot's links."""
        for pair, contact in self._explicit.items():
            if contact.direction is not None and _direction(contact).robot == robot:
                self._explicit[pair] = replace(contact, direction=None)
                self._on_change()

    def pair_laws(self, more: np.ndarray = _NO_LAWS) -> law.ContactMaterials:
        """Return the engine's table; more: rows for user contacts, appended at its end."""
        names = list(self._materials)
        pair = np.zeros((len(names), len(names)), np.int64)
        rows: dict[tuple[ContactMaterial, int], int] = {}
        for i, a in enumerate(names):
            for j, b in enumerate(names[: i + 1]):
                first, second = (b, a) if (b, a) in self._explicit else (a, b)
                contact = self.contact_material(first, second)
                is_ordered = _moves(contact) or callable(contact.friction_model)
                side = int(is_ordered and a != b) * (1 if first == a else -1)
                pair[i, j] = rows.setdefault((contact, side), len(rows))
                pair[j, i] = rows.setdefault((contact, -side), len(rows))
        self._functions = {
            row: contact.friction_model
            for row, (contact, _) in enumerate(rows)
            if callable(contact.friction_model)
        }
        refined = np.zeros((len(rows), law.REFINED_SIZE))
        refined[:, law.SIDE] = [side for _, side in rows]
        refined[:, law.OVERLAP] = [contact.adhesive_overlap for contact, _ in rows]
        refined[:, law.BINS] = [contact.bins for contact, _ in rows]
        refined[:, law.LEAST_LENGTH] = [contact.min_rest_length for contact, _ in rows]
        refined[:, law.MOST_LENGTH] = [contact.max_rest_length for contact, _ in rows]
        refined[:, law.DEPTH_FACTOR] = [contact.depth_factor or 0.0 for contact, _ in rows]
        body = np.full(len(rows), -1, np.int64)
        for row, (contact, _) in enumerate(rows):
            if contact.direction is not None:
                body[row], axis = self._locate(_direction(contact))
                refined[row, law.AXIS : law.AXIS + 3] = axis
        table = law.ContactMaterials(
            pair,
            np.array([_law_row(contact) for contact, _ in rows]),
            np.array([_refinements(contact) for contact, _ in rows], np.int64),
            refined,
            body,
            np.array([SOLVERS.get(contact.solver or '', -1) for contact, _ in rows], np.int64),
        )
        if len(more) == 0:
            return table
        return law.ContactMaterials(
            pair,
            np.concatenate([table.law, more]),
            np.concatenate([table.refine, np.zeros(len(more), np.int64)]),
            np.concatenate([refined, np.zeros((len(more), law.REFINED_SIZE))]),
            np.concatenate([body, np.full(len(more), -1)]),
            np.concatenate([table.solver, np.full(len(more), -1)]),
        )


def _moves(contact: ContactMaterial) -> bool:
    """Return whether a complete contact material moves its surfaces along each other."""
    return bool(contact.motion or contact.motion2)


def _refinements(contact: ContactMaterial) -> int:
    """Return the bits for a complete contact material's features outside its law row."""
    return (
        law.MOVES * _moves(contact)
        | law.ADHERES * ((contact.adhesion or 0.0) > 0.0)
        | law.DIRECTED * (contact.direction is not None)
        | law.WEIGHED * (contact.friction_model == 'box')
        | law.DEEP * (contact.depth_factor is not None)
        | law.CUSTOM * callable(contact.friction_model)
        | law.REDUCED * bool(contact.reduce)
        | law.SPREADS * (bool(contact.contact_area) and _is_elastic(contact))
    )


def _direction(contact: ContactMaterial) -> FrictionDirection:
    return cast(FrictionDirection, contact.direction)


def _law_row(contact: ContactMaterial) -> np.ndarray:
    """Return the engine's row for a complete contact material."""
    row = np.zeros(law.MATERIAL_LAW_SIZE)
    # with a friction function, the cone holds while the function returns None
    name = contact.friction_model if isinstance(contact.friction_model, str) else 'cone'
    row[law.MODEL] = FRICTION_MODELS[name]
    row[law.MU] = _least(contact.friction, _most_friction(name, law.FIRST_CONSTANT))
    row[law.MU2] = _least(contact.friction2, _most_friction(name, law.SECOND_CONSTANT))
    if contact.friction_model == 'box':
        row[[law.MU, law.MU2]] *= _GRAVITY
    elif contact.friction_model == 'constant_normal_force':
        row[[law.MU, law.MU2]] *= contact.normal_force or 0.0
    row[law.ROLLING] = _least(contact.rolling_friction, _STICKS)
    row[law.SPINNING] = _least(contact.spinning_friction, _STICKS)
    row[law.RESTITUTION] = contact.restitution
    row[law.BOUNCE_VELOCITY] = contact.bounce_velocity
    row[law.ERP], row[law.CFM] = contact.erp, contact.cfm
    row[law.SLIP], row[law.SLIP2] = contact.slip, contact.slip2
    row[law.MOTION], row[law.MOTION2] = contact.motion, contact.motion2
    row[law.MOTION_N] = contact.motion_normal
    row[law.LAYER] = contact.surface_layer
    row[law.MAX_VELOCITY] = contact.max_correcting_velocity
    row[law.ADHESION] = contact.adhesion
    # 0 means rigid
    row[law.STIFFNESS] = contact.stiffness if _is_elastic(contact) else 0.0
    row[law.DAMPING] = contact.damping if _is_elastic(contact) else 0.0
    return row


def _most_friction(name: str, one_constant: int) -> float:
    """Return the bound on friction along one direction: forces have none, coefficients have."""
    is_force = name == 'constant' or FRICTION_MODELS[name] == one_constant
    return math.inf if is_force else _STICKS


def _is_elastic(contact: ContactMaterial) -> bool:
    return contact.stiffness is not None and math.isfinite(contact.stiffness)


def _least(value: float | None, bound: float) -> float:
    """Return a value from a complete contact material, limited to the bound."""
    assert value is not None
    return min(value, bound)


def _mean(a: float, b: float) -> float:
    """Return the geometric mean; 0 and infinity give 0."""
    return math.sqrt(a * b) if a > 0.0 and b > 0.0 else 0.0


def _in_series(a: float, b: float) -> float:
    """Return two springs' stiffness in series; an infinite spring does not deform."""
    if math.isinf(a) or math.isinf(b):
        return min(a, b)
    return a * b / (a + b)


def _table_of(saved: Any) -> MaterialTable:
    table = MaterialTable()
    table.restore(saved)
    return table
