"""Mate strength, beyond which mates break or yield plastically, and their play."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import math
from types import MappingProxyType
from typing import cast

from sim_bridge.description.compliance import Compliance
from sim_bridge.description.model import JointDynamics, JointLimits
from sim_bridge.description.openplx.mapping.laws import is_default
from sim_bridge.description.openplx.mapping.records import AxisSettings
from sim_bridge.description.openplx.objects import Object, Value
from sim_bridge.description.report import Findings

_I = 'Physics.Interactions.'
_UNBROKEN = (math.inf,) * 8


@dataclass(frozen=True)
class Strength:
    """
    Mate strength. toughness: see `ConstraintDescription`.

    plays: by direction index, the effects replacing the mate in a direction left free:
    stops for a clearance, friction for a plastic yield.
    """

    toughness: tuple[float, ...] = _UNBROKEN
    plays: Mapping[int, AxisSettings] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def breaks(self) -> bool:
        """Whether the mate can break."""
        return self.toughness != _UNBROKEN


def strength_of(
    mate: Object,
    names: tuple[str, ...],
    held: tuple[int, ...],
    compliance: Compliance | None,
    findings: Findings,
) -> Strength:
    """
    Return a mate's strength in each direction.

    names: member names for the six directions. held: indices of the constrained directions.
    """
    toughness, clearance = (
        cast(Object, mate[name]) if name in mate.members else None
        for name in ('toughness', 'clearance')
    )
    limits, plays = list(_UNBROKEN), {}
    for number in held:
        name = names[number]
        law = None if toughness is None else toughness.members.get(name)
        limit, point = _limit_of(law, findings)
        play = None
        if math.isfinite(point):
            play = AxisSettings(dynamics=JointDynamics(friction=point))
        slack = 0.0 if clearance is None else _slack_of(clearance, number, name, findings)
        if slack > 0.0:
            stop = None
            if compliance is not None and math.isfinite(compliance.stiffness[number]):
                stop = compliance.stiffness[number], compliance.damping[number]
            play = replace(play or AxisSettings(), limits=JointLimits(-slack, slack), stop=stop)
        if play is not None and name == 'along_distance':
            findings.warning(
                'unsupported',
                mate.place_of('toughness'),
                'a distance mate can break, but has no plastic yield',
                name,
            )
        elif play is not None:
            plays[number] = play
        else:
            limits[2 + number] = limit
    return Strength(tuple(limits), MappingProxyType(plays))


def _limit_of(law: Value, findings: Findings) -> tuple[float, float]:
    """Return the efforts at which a direction breaks, and at which it yields plastically."""
    if not isinstance(law, Object):
        return math.inf, math.inf
    if law.is_a(f'{_I}Toughness.ThresholdFracture'):
        return _positive(law, 'fracture_point', findings), math.inf
    if law.is_a(f'{_I}Toughness.ThresholdPlastic'):
        return math.inf, _positive(law, 'yield_point', findings)
    if law.is_a(f'{_I}Toughness.ThresholdPlasticFracture'):
        ends = [_positive(law, name, findings) for name in ('fracture_point', 'yield_point')]
        if ends[0] <= ends[1]:
            return ends[0], math.inf
        # a direction yielding at a constant effort never bears more
        findings.warning(
            'no-effect',
            law.place_of('fracture_point'),
            f'is never reached: it yields at {ends[1]:g}',
            'fracture_point',
        )
        return math.inf, ends[1]
    if not (is_default(law) or law.is_a(f'{_I}Toughness.Unbreakable')):
        findings.warning(
            'unsupported', law.place, f'toughness of model {law.model.name} is not simulated'
        )
    return math.inf, math.inf


def _slack_of(clearance: Object, number: int, name: str, findings: Findings) -> float:
    """Return a mate's play in a direction, either way [m or rad]."""
    law = clearance.members.get(name if number < 3 else 'around_all_axes')
    if not isinstance(law, Object):
        return 0.0
    member = 'distance' if number < 3 else 'angle'
    return _positive(law, member, findings, 0.0) if member in law.members else 0.0


def _positive(law: Object, name: str, findings: Findings, least: float = 1e-300) -> float:
    value = cast(float, law[name])
    if value >= least:
        return value
    expected = 'must be at least 0' if least == 0.0 else 'must be above 0'
    findings.error('out-of-range', law.place_of(name), expected, name, f'{value:g}')
    return math.inf
