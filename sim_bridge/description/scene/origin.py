"""
Place of the world on the Earth, in scenes and in the node's parameter `origin`.

    origin: {latitude: 47.479, longitude: 19.058, elevation: 112.0, heading: 0.0, year: 2026.5}
    origin: {file: worlds/field.sdf}     # a Gazebo world's spherical_coordinates

latitude, longitude [deg]; elevation above the WGS 84 ellipsoid [m]; heading from east to x,
counter-clockwise [deg]; year of the magnetic field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path

from sim_bridge.description.origin import Origin
from sim_bridge.description.report import Findings
from sim_bridge.description.resources import explain_unresolved, resolve_uri
from sim_bridge.description.sdf.spherical_coordinates import origin_of_world_file
from sim_bridge.description.yaml.section import check_findings, Section

KEY = 'origin'
_REQUIRED = ('latitude', 'longitude')


def read_origin(
    world: Section, folder: Path | None, package_paths: Iterable[str | Path] = ()
) -> Origin | None:
    """
    Return the place at the key `origin`; None if it is absent or, with errors noted, invalid.

    folder: where relative paths start; None: the working folder. package_paths: for package://.
    """
    section = world.section(KEY)
    if section is None:
        return None
    file = section.text('file', None)
    numbers = {each.name: section.number(each.name, None) for each in fields(Origin)}
    section.close()
    given = {key: value for key, value in numbers.items() if value is not None}
    if file is not None:
        return _from_file(section, file, given, folder, package_paths)
    missing = [key for key in _REQUIRED if not section.has(key)]
    if missing:
        section.error(missing[0], '', 'missing; or file, a Gazebo world')
    if any(key not in given for key in _REQUIRED):
        return None
    return section.make(lambda: Origin(**given))


def origin_from_mapping(
    mapping: Mapping[str, object], subject: str, package_paths: Iterable[str | Path] = ()
) -> Origin | None:
    """
    Return the place for the node's parameter; None for an empty mapping.

    Raises InvalidValueError about `subject`, with all defects.
    """
    if not mapping:
        return None
    findings = Findings()
    origin = read_origin(Section({KEY: mapping}, '', findings), None, package_paths)
    check_findings(
        findings, str(dict(mapping)), subject, 'latitude and longitude, or file, a Gazebo world'
    )
    return origin


def _from_file(
    section: Section,
    file: str,
    given: Mapping[str, float],
    folder: Path | None,
    package_paths: Iterable[str | Path],
) -> Origin | None:
    other = [key for key in given if key != 'year']
    if other:
        section.error(other[0], given[other[0]], 'file is given too; keep one')
        return None
    path = resolve_uri(file, base=folder, package_paths=package_paths)
    if path is None:
        section.error('file', file, explain_unresolved(file, base=folder))
        return None
    return origin_of_world_file(path, section.findings, given.get('year'))
