"""
MJCF flags for disabled physics: `option/flag`, `actuatorgroupdisable`.

The compiled arrays are changed as if the disabled part were not in the file: no other reader
asks for flags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sim_bridge.description.mjcf.compiled import CompiledModel

# arrays set to 0, by flag; 'constraint' disables all of the first group
_CONSTRAINTS: Mapping[str, tuple[str, ...]] = {
    'limit': ('jnt_limited', 'tendon_limited'),
    'frictionloss': ('dof_frictionloss', 'tendon_frictionloss'),
    'equality': ('eq_active0',),
    'contact': ('geom_contype', 'geom_conaffinity'),
}
_PASSIVE: Mapping[str, tuple[str, ...]] = {
    'spring': (
        'jnt_stiffness', 'jnt_stiffnesspoly', 'jnt_springyield', 'tendon_stiffness',
        'tendon_stiffnesspoly', 'tendon_springyield',
    ),
    'damper': ('dof_damping', 'dof_dampingpoly', 'tendon_damping', 'tendon_dampingpoly'),
    'clampctrl': ('actuator_ctrllimited',),
}  # fmt: skip
_PAIRS = ('pair_geom1', 'pair_geom2', 'pair_friction', 'pair_dim')


def obeying_flags(model: CompiledModel) -> CompiledModel:
    """Return a compiled model without its disabled parts."""
    disabled = set(model.texts['disabled'])
    if 'constraint' in disabled:
        disabled |= _CONSTRAINTS.keys()
    names = [
        name for flag, own in {**_CONSTRAINTS, **_PASSIVE}.items() if flag in disabled
        for name in own
    ]  # fmt: skip
    changed = {name: np.zeros_like(model[name]) for name in names if name in model.arrays}
    if 'contact' in disabled:
        changed |= {name: model[name][:0] for name in _PAIRS if name in model.arrays}
    texts = model.texts
    if {'spring', 'damper'} <= disabled:
        # both together disable all passive forces (XML reference, option/flag)
        changed['body_gravcomp'] = np.zeros_like(model['body_gravcomp'])
        texts = {**texts, 'option': {**texts['option'], 'density': 0.0, 'viscosity': 0.0}}
    return replace(model, arrays={**model.arrays, **changed}, texts=texts) if changed else model


def is_enabled(model: CompiledModel, actuator: int) -> bool:
    """Return whether no flag disables an actuator or its group."""
    if 'actuation' in model.texts['disabled']:
        return False
    group = int(model['actuator_group'][actuator])
    # MuJoCo's switches are for these groups alone
    return not (0 <= group <= 30 and int(model.option('disableactuator')) >> group & 1)
