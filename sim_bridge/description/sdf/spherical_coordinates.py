"""Place on the Earth in a Gazebo world file: SDF's `<spherical_coordinates>`."""

from __future__ import annotations

from pathlib import Path

from sim_bridge.description.numbers import Numbers
from sim_bridge.description.origin import Origin
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Element, parse_document, read_source
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown
from sim_bridge.foundation.errors import InvalidValueError

TAG = 'spherical_coordinates'
_KEYS = {
    'latitude_deg': 'latitude',
    'longitude_deg': 'longitude',
    'elevation': 'elevation',
    'heading_deg': 'heading',
}
# the only value that is simulated; absent: this one
_WORDS = {'surface_model': 'EARTH_WGS84', 'world_frame_orientation': 'ENU'}


def read_spherical_coordinates(
    node: Element, findings: Findings, year: float | None = None
) -> Origin | None:
    """
    Return the place in a `<spherical_coordinates>` element; None, with an error noted, if invalid.

    year: for the magnetic field; SDF has none; None: the default.
    """
    place = Place(TAG, '', node.line)
    warn_of_unknown(node, {*_KEYS, *_WORDS}, place, findings)
    for element in node:
        word = _WORDS.get(element.tag)
        if word is not None and element_text(element) not in ('', word):
            inner = place.child(element.tag, element.line)
            findings.error(
                'bad-value', inner, f'only {word} is simulated', value=element_text(element)
            )
            return None
    given = read_numbers(node, dict.fromkeys(_KEYS, Numbers()), place, findings)
    values = {'latitude': 0.0, 'longitude': 0.0}
    values |= {_KEYS[tag]: number for tag, number in given.items()}
    if year is not None:
        values['year'] = year
    try:
        return Origin(**values)
    except InvalidValueError as err:
        findings.error('out-of-range', place, str(err))
        return None


def origin_of_world_file(
    path: Path, findings: Findings, year: float | None = None
) -> Origin | None:
    """Return a Gazebo world file's place; None, with an error noted, if it has none."""
    _, content = read_source(path, findings)
    document = None if content is None else parse_document(content, findings)
    if document is None:
        return None
    node = next((each for each in document.root.walk() if each.tag == TAG), None)
    if node is None:
        findings.error('missing-element', Place(TAG), f'missing in {path}')
        return None
    return read_spherical_coordinates(node, findings, year)
