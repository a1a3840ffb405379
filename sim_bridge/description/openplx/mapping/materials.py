"""Materials in a scene, and contact materials for pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from sim_bridge.description.openplx.assembly import owners
from sim_bridge.description.openplx.mapping.laws import damping_of, is_default, stiffness_of
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.material import ContactMaterial, Material

_BASES = ('Physics.Geometries.Material', 'Physics.Geometries.LinearElasticMaterial')
_OVERRIDE = 'Physics.GeometryMaterialOverrideTrait'
_CONTACT = 'Physics.Interactions.SurfaceContact.'
_FRICTION = 'Physics.Interactions.Dissipation.'
_DEPTH_SCALED = f'{_FRICTION}DryDepthScaledConstantNormalForceFriction'
_FRICTION_MODELS = {
    f'{_FRICTION}DryConeFriction': 'cone',
    f'{_FRICTION}DryScaleBoxFriction': 'pyramid',
    f'{_FRICTION}DryBoxFriction': 'box',
    f'{_FRICTION}DryConstantNormalForceFriction': 'constant_normal_force',
    f'{_FRICTION}DefaultDryFriction': 'cone',
}


class Materials:
    """Materials for the geometries in a scene, created on demand."""

    def __init__(self, findings: Findings):
        """Begin without materials. findings: for invalid values."""
        self._findings = findings
        self._names: dict[int, str] = {}
        self.found: dict[str, Material] = {}
        """By name."""

    def of_geometry(self, geometry: Object) -> tuple[str | None, float]:
        """Return the material's name (None for the world's default) and its density [kg/m³]."""
        material = _overriding(geometry) or cast(Object, geometry['material'])
        density = cast(float, material['density'])
        is_plain = material.model.name == _BASES[0] and not any(
            material.is_assigned(name) for name in ('unique_name', 'density')
        )
        return (None if is_plain else self.name_of(material)), density

    def name_of(self, material: Object) -> str:
        """Return a material's name; equal materials share a name."""
        if id(material) not in self._names:
            own = material.model.name
            wanted = (
                cast(str, material['unique_name'])
                or (material.path if own in _BASES else own)
                or own
            )
            made = self._made(material, wanted)
            name = free_name(
                wanted, lambda name: self.found.get(name) not in (None, replace(made, name=name))
            )
            self.found[name] = replace(made, name=name)
            self._names[id(material)] = name
        return self._names[id(material)]

    def contacts(self, root: Object) -> Iterator[tuple[str, str, ContactMaterial | None]]:
        """Yield names and law for each pair with a contact model; None: no collision."""
        for model in root.walk():
            if not model.is_a(f'{_CONTACT}Model'):
                continue
            one, other = (
                self.name_of(cast(Object, model[name])) for name in ('material_1', 'material_2')
            )
            if not model['enabled']:
                yield one, other, None
                continue
            try:
                yield one, other, ContactMaterial(**self._law(model))
            except InvalidValueError as err:
                self._findings.error(
                    'bad-value', model.place, str(err), err.quantity, str(err.value)
                )

    def _made(self, material: Object, name: str) -> Material:
        values: dict[str, Any] = {'density': material['density']}
        if material.is_a(_BASES[1]):
            stiffness = cast(float, material['youngs_modulus'])
            values['youngs_modulus'] = stiffness
            values['damping'] = damping_of(material['dissipation'], stiffness, self._findings) / (
                stiffness or 1.0
            )
        try:
            return Material(name, **values)
        except InvalidValueError as err:
            self._findings.error(
                'bad-value',
                material.place_of('density'),
                f'expected {err.expected}',
                err.quantity,
                str(err.value),
            )
            return Material(name)

    def _law(self, model: Object) -> dict[str, Any]:
        """Return arguments for ContactMaterial."""
        values: dict[str, Any] = {'restitution': model['normal_restitution']}
        if model['tangential_restitution']:
            self._unsupported(model, 'tangential_restitution', 'sideways bounces')
        friction = cast(Object, model['friction'])
        if friction.is_a(f'{_FRICTION}DefaultDryFriction'):
            values |= self._friction(friction)
        elif not is_default(friction):
            self._unsupported(model, 'friction', f'friction of model {friction.model.name}')
        elasticity = cast(Object, model['normal_flexibility'])
        stiffness = stiffness_of(elasticity)
        if elasticity.is_a(f'{_CONTACT}PatchElasticity'):
            self._unsupported(
                model,
                'normal_flexibility',
                'a stiffness that contact points share',
                'each point has all of it',
            )
        if not is_default(elasticity):
            values['stiffness'] = stiffness
        if not is_default(model['dissipation']):
            values['damping'] = damping_of(model['dissipation'], stiffness, self._findings)
        adhesion = cast(Object, model['adhesion'])
        if 'force' in adhesion:
            values['adhesion'] = adhesion['force']
        if not is_default(model['clearance']):
            self._unsupported(model, 'clearance', 'clearance')
        return values

    def _friction(self, friction: Object) -> dict[str, Any]:
        kind = next(
            name
            for name in (friction.model.name, *friction.model.bases)
            if name in _FRICTION_MODELS
        )
        values: dict[str, Any] = {
            'friction_model': _FRICTION_MODELS[kind],
            'friction': friction['coefficient'],
        }
        if 'normal_force' in friction:
            values['normal_force'] = friction['normal_force']
        if friction.is_a(_DEPTH_SCALED):
            # old bundles have no factor
            known = 'depth_factor' in friction
            values['depth_factor'] = friction['depth_factor'] if known else 1.0
        if 'secondary_coefficient' in friction:
            values['friction2'] = friction['secondary_coefficient']
        if 'viscosity' in friction and friction['viscosity']:
            self._unsupported(friction, 'viscosity', 'viscous friction between surfaces')
        return values

    def _unsupported(self, thing: Object, member: str, feature: str, instead: str = '') -> None:
        self._findings.warning(
            'unsupported',
            thing.place_of(member),
            f'{feature} is not simulated{f"; {instead}" if instead else ""}',
            member,
        )


def _overriding(geometry: Object) -> Object | None:
    """Return the material of a body or system that overrides the geometry's own."""
    for owner in owners(geometry):
        if owner.is_a(_OVERRIDE):
            excluded = owner['material_override_geometries_excluded']
            if not any(each is geometry for each in cast('tuple[Object, ...]', excluded)):
                return cast(Object, owner['material_override'])
    return None
