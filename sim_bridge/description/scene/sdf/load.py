"""Worlds from SDF: a world, or a file with models, becomes a `SceneDescription`."""

from __future__ import annotations

from sim_bridge.description.origin import Origin
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.scene.model import SceneDescription
from sim_bridge.description.scene.sdf.joints import world_joints
from sim_bridge.description.scene.sdf.models import WorldModels
from sim_bridge.description.scene.sdf.physics import read_physics
from sim_bridge.description.scene.sdf.surroundings import read_surroundings
from sim_bridge.description.sdf.spherical_coordinates import read_spherical_coordinates, TAG
from sim_bridge.description.sdf_model.document import Entity, entity_of, Library, ROOTS, SdfFile
from sim_bridge.description.sdf_model.scope import build_scope
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.xml.document import Element, parse_document, read_source

# read with the models
_MODELS = ('model', 'include', 'actor', 'light', 'frame', 'joint', 'population', 'plugin', 'state')
# views and logs
_SILENT = ('gui', 'name')
_OTHERS = ('audio', 'road')


def read_world(source: Source, findings: Findings) -> SceneDescription | None:
    """
    Return the world in an SDF file; see `scene.reader`.

    source: `model` is the world's name, in a file with several. A file without a world is one
    with the models in it.
    """
    library = Library(source.package_paths, findings, source.xacro_args)
    file, _ = library.open(source.given)
    if file is None:
        return None
    entity = _chosen(file, source.model, findings)
    scope = build_scope(entity, library, is_world=True)
    tags = Tags(entity.element, Place('world', entity.name, entity.element.line), findings)
    physics = read_physics(tags)
    models = WorldModels(scope, library, physics)
    robots = models.robots()
    light = read_surroundings(tags, scope.others, scope)
    origin = _origin(tags)
    joints = world_joints(scope, models, findings)
    tags.ignore(_OTHERS, '')
    tags.close((*_MODELS, *_SILENT))
    return SceneDescription(
        library.main,
        physics.gravity,
        apart=models.apart(),
        robots=robots,
        joints=joints,
        time_step=physics.time_step,
        description=entity.name,
        origin=origin,
        light=light,
        files=library.paths,
        real_time_factor=physics.real_time_factor,
    )


def _chosen(file: SdfFile, name: str, findings: Findings) -> Entity:
    worlds = file.root.findall('world')
    named = [node for node in worlds if name in ('', node.get('name'))]
    if not worlds:
        return entity_of(file.root, file)
    if name and not named:
        names = [node.get('name') for node in worlds]
        place = Place('document', line=file.root.line)
        findings.error('unknown-world', place, unknown('world', name, names), value=name)
        named = worlds
    if len(named) > 1:
        place = Place('world', named[1].get('name'), named[1].line)
        findings.warning('several-worlds', place, 'only the first world of the file is read')
    return entity_of(named[0], file)


def _origin(tags: Tags) -> Origin | None:
    node = tags.find(TAG)
    own = Findings()
    origin = None if node is None else read_spherical_coordinates(node, own)
    tags.findings.take_part(own, '')
    return origin


def holds_world(source: Source) -> bool:
    """Return whether a file is a world: it holds a `<world>`, or several models."""
    own = Findings()
    _, data = read_source(source.given, own)
    document = None if data is None else parse_document(data, own)
    if document is None or document.root.tag not in ROOTS:
        return False
    root: Element = document.root
    return root.find('world') is not None or len(root.findall('model')) > 1
