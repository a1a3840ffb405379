"""Body file header and content."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from sim_bridge.description.body.humanoid import body_of_vrml
from sim_bridge.description.body.keys import key_of, Reading
from sim_bridge.description.report import Findings
from sim_bridge.description.yaml.file import read_mapping
from sim_bridge.description.yaml.section import Section
from sim_bridge.shapes.mesh_files import VRML_SUFFIX

_FORMAT = 'ChoreonoidBody'
_NEXT_VERSION = 2.1
_UNITS = {'degree': math.radians(1.0), 'radian': 1.0}
# keys concerning windows, planners and plugins
_NOT_OF_MECHANICS = (
    'name',
    'standard_pose',
    'link_group',
    'possible_ik_interpolation_links',
    'default_ik_interpolation_links',
    'possible_support_links',
    'default_ik_setup',
    'default_i_k_setup',
    'folding_groups',
    'symmetric_joints',
    'symmetric_ik_links',
    'foot_links',
    'body_handlers',
    'division_number',
    'crease_angle',
    'format',
    'link_info',
    'preset_poses',
)


class Document(NamedTuple):
    """Content of a body file. reading: data shared by the readers of its parts."""

    section: Section
    reading: Reading


def read_document(path: Path, findings: Findings, base: Path, folder: str = '') -> Document | None:
    """
    Return the content of a body file or VRML model, in body file form.

    None, with an error noted, if it cannot be read. base, folder: see `Reading`.
    """
    is_vrml = path.suffix.lower() == VRML_SUFFIX
    content = body_of_vrml(path, findings) if is_vrml else read_mapping(path, findings)
    if content is None:
        return None
    document = Section(content, 'body', findings, 1)
    angle = _header(document, findings)
    return (
        None
        if angle is None
        else Document(document, Reading(findings, angle, base, '' if folder == '.' else folder))
    )


def _header(document: Section, findings: Findings) -> float | None:
    """Return the file's angle unit [rad]; None, with an error noted, if it is no body file."""
    for key in _NOT_OF_MECHANICS:
        key_of(document, key)
    if document.peek('format') != _FORMAT:
        other = document.peek(key_of(document, 'model_file'))
        hint = f'; it only refers to {other}: name that file' if other else ''
        document.error('format', document.peek('format'), f'must be {_FORMAT}{hint}')
        return None
    key = key_of(document, 'format_version')
    version = document.number(key, None)
    if version is None or not 1.0 <= version < _NEXT_VERSION:
        document.error(key, document.peek(key), 'must be 1.0 to 2.0')
        return None
    return _UNITS[document.choice(key_of(document, 'angle_unit'), tuple(_UNITS), 'degree')]
