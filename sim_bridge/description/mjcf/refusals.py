"""Elements without simulation here, and those that refuse a file."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.mjcf import equalities, sensors
from sim_bridge.description.mjcf.actuators import why_unsupported
from sim_bridge.description.mjcf.flags import is_enabled
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.tendons import is_fixed
from sim_bridge.description.report import Place
from sim_bridge.foundation.names import counted

_REFUSED = {
    'flex': 'deformable bodies (flex) are not simulated here',
    'plugin': "plugins are MuJoCo's own programs and do not run here",
}
# flags without counterpart
_DISABLED = {'sensor': 'sensors measure all the same'}
_ENABLED = {'override': 'contacts have their own parameters all the same'}


def refuse(notes: Notes) -> None:
    """Refuse elements that change the motion of everything; name others without simulation."""
    model = notes.model
    for kind, message in _REFUSED.items():
        for number in range(model.count(kind)):
            notes.refused(kind, number, message)
    for number in range(model.count('skin')):
        notes.left_out('skin', number, 'skins are not drawn')
    _name_actuation(notes)
    _name_options(notes)
    _name_contact_details(notes)
    equalities.name_others(model, notes)
    sensors.name_unplaced(model, notes)


def _name_actuation(notes: Notes) -> None:
    model = notes.model
    if 'actuation' in model.texts['disabled']:
        place = Place('option/flag')
        message = f'disables {counted(model.count("actuator"), "actuator")}: left out'
        notes.findings.warning('no-effect', place, message, 'actuation')
    for number, word in enumerate(model.words('actuator_dyntype')):
        if word == 'muscle' or model.words('actuator_gaintype')[number] == 'muscle':
            notes.refused('actuator', number, 'muscles are not simulated here')
        elif not is_enabled(model, number):
            if 'actuation' not in model.texts['disabled']:
                notes.left_out('actuator', number, 'its group is disabled: left out', 'group')
        elif why_unsupported(model, number):
            notes.left_out('actuator', number, why_unsupported(model, number))
    for number in range(model.count('tendon')):
        if not is_fixed(model, number):
            notes.left_out('tendon', number, 'spatial tendons are not simulated')


def _name_options(notes: Notes) -> None:
    model = notes.model
    for state, messages in (('disabled', _DISABLED), ('enabled', _ENABLED)):
        for flag, message in messages.items():
            if flag in model.texts[state]:
                notes.findings.warning('not-simulated', Place('option/flag'), message, flag)


def _name_contact_details(notes: Notes) -> None:
    model = notes.model
    roots = model['body_rootid']
    for number, signature in enumerate(model['exclude_signature'].tolist()):
        one, other = int(signature) >> 16, int(signature) & 0xFFFF
        if max(one, other) < len(roots) and roots[one] != roots[other]:
            message = 'excludes bodies of two robots; exclusions hold within one robot'
            notes.left_out('exclude', number, message)
    for array, attribute, message in (
        ('geom_margin', 'margin', 'contacts begin at the surface, without margin'),
        ('geom_surfacevel', 'surfacevel', 'moving surfaces are not simulated'),
        ('geom_adhesion', 'adhesion', 'adhesion is not simulated'),
    ):
        values = model.get(array)
        if values is None:
            continue
        for geom in range(model.count('geom')):
            if np.any(values[geom]) and (
                model['geom_contype'][geom] or model['geom_conaffinity'][geom]
            ):
                notes.changed('geom', geom, message, attribute)
