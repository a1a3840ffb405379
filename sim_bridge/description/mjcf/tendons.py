"""Fixed tendons in MJCF models as linear joint couplings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sim_bridge.description.actuators import CouplingDescription
from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import JointDescription, ONE_AXIS

# tendon features without simulation, by array; named where the value is not 0
_UNUSUAL = {
    'tendon_limited': 'range',
    'tendon_actfrclimited': 'actuatorfrcrange',
    'tendon_frictionloss': 'frictionloss',
    'tendon_armature': 'armature',
    'tendon_stiffnesspoly': 'stiffness',
    'tendon_dampingpoly': 'damping',
    'tendon_springyield': 'springyield',
}


def is_fixed(model: CompiledModel, tendon: int) -> bool:
    """Return whether a tendon sums joint positions."""
    first, count = int(model['tendon_adr'][tendon]), int(model['tendon_num'][tendon])
    return all(word == 'joint' for word in model.words('wrap_type')[first : first + count])


def joints_of_tendon(model: CompiledModel, tendon: int) -> dict[int, float]:
    """Return a fixed tendon's factors by joint."""
    first, count = int(model['tendon_adr'][tendon]), int(model['tendon_num'][tendon])
    found: dict[int, float] = {}
    for at in range(first, first + count):
        joint = int(model['wrap_objid'][at])
        found[joint] = found.get(joint, 0.0) + float(model['wrap_prm'][at])
    return found


def couplings_of(
    model: CompiledModel, joints: Mapping[str, JointDescription], notes: Notes
) -> Iterator[CouplingDescription]:
    """Yield the fixed tendons on one robot's joints."""
    for tendon in filter(lambda each: is_fixed(model, each), range(model.count('tendon'))):
        factors = {
            model.name('jnt', joint): factor
            for joint, factor in joints_of_tendon(model, tendon).items()
        }
        if not factors.keys() & joints.keys():
            continue
        if not factors.keys() <= joints.keys():
            notes.left_out('tendon', tendon, 'couples two robots; tendons act within one robot')
            continue
        if any(joints[name].type not in ONE_AXIS for name in factors):
            notes.left_out('tendon', tendon, 'couples joints with several axes')
            continue
        _name_unusual(model, tendon, notes)
        lower, upper = map(float, model['tendon_lengthspring'][tendon])
        yield CouplingDescription(
            model.name('tendon', tendon),
            tuple(factors),
            tuple(factors.values()),
            stiffness=float(model['tendon_stiffness'][tendon]),
            damping=float(model['tendon_damping'][tendon]),
            spring_range=(lower, upper),
            line=model.line('tendon', tendon),
        )


def _name_unusual(model: CompiledModel, tendon: int, notes: Notes) -> None:
    for array, attribute in _UNUSUAL.items():
        values = model.get(array)
        if values is not None and np.any(values[tendon]):
            notes.left_out('tendon', tendon, 'is not simulated', attribute)
