"""
SDF's `<distortion>` and `<lens>` in a camera element.

Sources: sdformat 1.12 (camera.sdf), gz-rendering (wide angle lenses).
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any

from sim_bridge.description.cameras import Projection
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.plugin_topics import text_in
from sim_bridge.description.sdf.values import is_true
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

_WIDE_ANGLE = ('wide_angle_camera', 'wideanglecamera')
_BROWN = ('k1', 'k2', 'p1', 'p2', 'k3')
_INTRINSICS = ('fx', 'fy', 'cx', 'cy', 's')
_PROJECTION = ('p_fx', 'p_fy', 'p_cx', 'p_cy', 'tx', 'ty')
_CUSTOM = {'c1': 1.0, 'c2': 1.0, 'c3': 0.0, 'f': 1.0}
_CUSTOM_LENSES = {'sin': 'sine', 'tan': 'tangent', 'id': 'angle'}
_LENS_TYPES = ('equidistant', 'stereographic', 'equisolid_angle', 'orthographic')
_RIGHT_ANGLE = 1.5707  # sdformat's cutoff_angle


def read_distortion(
    node: Element,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read Brown's coefficients."""
    for each in node.findall('distortion'):
        places['distortion'] = inner = place.child('distortion', each.line)
        warn_of_unknown(each, {*_BROWN, 'center'}, inner, findings)
        numbers = read_numbers(each, {tag: Numbers() for tag in _BROWN}, inner, findings)
        if any(numbers.values()):
            values['lens'] = 'plumb_bob'
            values['distortion'] = tuple(numbers.get(tag, 0.0) for tag in _BROWN)
        for center in each.findall('center'):
            at = inner.child('center', center.line)
            found = parse_numbers(element_text(center), Numbers(2), at, findings, '')
            if found is not None and found != [0.5, 0.5]:
                message = 'is not simulated: the distortion is about the optical axis'
                findings.warning('not-simulated', at, message, value=element_text(center))


def read_lens(
    node: Element,
    word: str,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read `<lens>`: a wide angle camera's type, any other's intrinsics and projection."""
    lens = next(iter(node.findall('lens')), None)
    if word in _WIDE_ANGLE:
        _read_wide_angle(lens, place, findings, values, places)
    if lens is None:
        return
    inner = place.child('lens', lens.line)
    known = {
        *('type', 'scale_to_hfov', 'custom_function', 'cutoff_angle', 'env_texture_size'),
        *('intrinsics', 'projection'),
    }
    warn_of_unknown(lens, known, inner, findings)
    given = _numbers_in(lens, 'intrinsics', _INTRINSICS, inner, findings)
    if given is not None and word not in _WIDE_ANGLE:
        fx, fy, cx, cy, skew = given
        if not fx or not fy:
            message = 'fx and fy must be above 0'
            findings.error('out-of-range', inner.child('intrinsics', lens.line), message)
            return
        values['intrinsics'] = (fx, fy, cx, cy, skew)
    shown = _numbers_in(lens, 'projection', _PROJECTION, inner, findings)
    if shown is not None:
        values['projection'] = Projection(*shown)


def _numbers_in(
    lens: Element, tag: str, keys: Sequence[str], place: Place, findings: Findings
) -> list[float] | None:
    """Return the numbers in a child of `<lens>`, 0 for missing ones; None without the child."""
    for each in lens.findall(tag):
        inner = place.child(tag, each.line)
        warn_of_unknown(each, keys, inner, findings)
        numbers = read_numbers(each, {key: Numbers() for key in keys}, inner, findings)
        return [numbers.get(key, 0.0) for key in keys]
    return None


def _read_wide_angle(
    lens: Element | None,
    place: Place,
    findings: Findings,
    values: dict[str, Any],
    places: dict[str, Place],
) -> None:
    """Read a lens's type; SDF's default is stereographic, scaled to the horizontal angle."""
    kind = ('' if lens is None else text_in(lens, 'type')) or 'stereographic'
    within = place if lens is None else place.child('lens', lens.line)
    values['cutoff'] = _RIGHT_ANGLE
    is_scaled = True
    if lens is not None:
        places['cutoff'] = places['distortion'] = within
        is_scaled = is_true(text_in(lens, 'scale_to_hfov') or 'true')
        cutoff = read_numbers(lens, {'cutoff_angle': Numbers()}, within, findings)
        values['cutoff'] = min(cutoff.get('cutoff_angle', _RIGHT_ANGLE), math.pi)
    if kind == 'custom':
        custom = None if lens is None else lens.find('custom_function')
        given = dict(_CUSTOM)
        function = 'tan'
        if custom is not None:
            inner = within.child('custom_function', custom.line)
            given |= read_numbers(custom, {key: Numbers() for key in _CUSTOM}, inner, findings)
            function = text_in(custom, 'fun') or function
        if function not in _CUSTOM_LENSES:
            message = f'must be one of {", ".join(_CUSTOM_LENSES)}'
            findings.error('bad-value', within, message, 'fun', function)
            function = 'tan'
        values['lens'] = _CUSTOM_LENSES[function]
        values['distortion'] = (given['c1'] * given['f'], given['c2'], given['c3'])
    elif kind in _LENS_TYPES:
        values['lens'] = kind
        values.pop('distortion', None)
    elif kind == 'gnomonical':
        values['lens'] = 'pinhole'
        values.pop('distortion', None)
    else:
        message = f'must be one of gnomonical, {", ".join(_LENS_TYPES)}, custom'
        findings.error('bad-value', within, message, 'type', kind)
    if not is_scaled:
        # the radius 1 is at the picture's left and right edges
        width, height = values['size']
        scale = 0.5 * width
        values['intrinsics'] = (scale, scale, 0.5 * (width - 1), 0.5 * (height - 1), 0.0)
