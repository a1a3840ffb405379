"""Inputs and outputs of a scene, under the names that interfaces give them."""

from __future__ import annotations

from typing import cast

from sim_bridge.description.openplx.mapping.records import Signal
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings

_S = 'Physics.Signals.'
_INPUT, _OUTPUT, _INTERFACE = f'{_S}Input', f'{_S}Output', f'{_S}SignalInterface'


def signals_of(root: Object, findings: Findings) -> tuple[Signal, ...]:
    """Return the inputs and outputs in order of definition; outputs also where not enabled."""
    renamed, enabled = _interfaces(root)
    found = []
    for each in root.walk():
        if not (each.is_a(_INPUT) or each.is_a(_OUTPUT)):
            continue
        source = each.members.get('source')
        if not isinstance(source, Object):
            findings.warning(
                'unsupported-signal', each.place,
                f'model {each.model.name} has no single source, and is not sent or taken')
            continue
        is_input = each.is_a(_INPUT)
        found.append(Signal(
            renamed.get(id(each), each.path.replace('.', '/')), _base(each), is_input, source.path,
            cast(int, each['type']),
            is_input or bool(each['enabled']) or id(each) in enabled, each.place.line))
    return tuple(found)


def _base(signal: Object) -> str:
    """Return the model of a signal, or the one of the bundles that it extends."""
    names = (signal.model.name, *signal.model.bases)
    return next((name for name in names if '.Signals.' in name), names[0])


def _interfaces(root: Object) -> tuple[dict[int, str], set[int]]:
    """Return names by the identity of a signal, and those that interfaces enable."""
    names: dict[int, str] = {}
    enabled = set()
    for each in root.walk():
        if not each.is_a(_INTERFACE):
            continue
        for member, value in each.members.items():
            if isinstance(value, Object) and (value.is_a(_INPUT) or value.is_a(_OUTPUT)):
                names.setdefault(id(value), f'{each.path}.{member}'.strip('.').replace('.', '/'))
                if each['enable']:
                    enabled.add(id(value))
    return names, enabled
