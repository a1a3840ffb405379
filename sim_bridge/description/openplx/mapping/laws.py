"""Flexibility and dissipation as numbers."""

from __future__ import annotations

import math
from typing import cast

from sim_bridge.description.openplx.objects import Object, Value
from sim_bridge.description.report import Findings

_INTERACTIONS = 'Physics.Interactions.'
_ELASTIC = f'{_INTERACTIONS}Flexibility.LinearElastic'
_DAMPING = f'{_INTERACTIONS}Dissipation.MechanicalDamping'
_RELAXATION = f'{_INTERACTIONS}Dissipation.ConstraintRelaxationTimeDamping'


def is_default(law: Value) -> bool:
    """Whether a law is the default, left to the simulation."""
    return not isinstance(law, Object) or law.model.name.rpartition('.')[2].startswith('Default')


def stiffness_of(flexibility: Value) -> float:
    """Return a stiffness [N/m or N m/rad]; inf for rigid, the default."""
    if isinstance(flexibility, Object) and flexibility.is_a(_ELASTIC):
        return cast(float, flexibility['stiffness'])
    return math.inf


def damping_of(dissipation: Value, stiffness: float, findings: Findings) -> float:
    """
    Return a damping [N s/m or N m s/rad]; 0 for the default.

    stiffness: factor for a relaxation time. An unknown model is reported.
    """
    if not isinstance(dissipation, Object) or is_default(dissipation):
        return 0.0
    if dissipation.is_a(_DAMPING):
        return cast(float, dissipation['damping_constant'])
    if dissipation.is_a(_RELAXATION):
        time = cast(float, dissipation['relaxation_time'])
        return time * stiffness if math.isfinite(stiffness) else 0.0
    findings.warning(
        'unsupported',
        dissipation.place,
        f'dissipation of model {dissipation.model.name} is not simulated',
    )
    return 0.0
