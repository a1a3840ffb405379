"""Robots from SDF: a model becomes a `RobotDescription`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sim_bridge.description.collision_bits import pairs_apart
from sim_bridge.description.formats import SDF
from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mechanism.constraints import attach
from sim_bridge.description.mechanism.tree import check_mimic_limits, resolve_mimics
from sim_bridge.description.model import (
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place, Report, unknown
from sim_bridge.description.sdf.plugin_forces import with_plugin_effects
from sim_bridge.description.sdf.wheel_slip import with_wheel_slip
from sim_bridge.description.sdf_model.devices import Devices
from sim_bridge.description.sdf_model.document import Entity, entity_of, Library, SdfFile
from sim_bridge.description.sdf_model.geometry import Context
from sim_bridge.description.sdf_model.joints import read_joints, SdfJoint
from sim_bridge.description.sdf_model.links import build_link
from sim_bridge.description.sdf_model.mechanism import declared_loops, Mechanism
from sim_bridge.description.sdf_model.scope import build_scope, Scope, WORLD
from sim_bridge.description.sdf_model.tags import Tags
from sim_bridge.description.urdf.drives import with_drives
from sim_bridge.description.urdf.sensors import read_sensors
from sim_bridge.description.urdf.write import urdf_text

_MODEL_TAGS = ('link', 'joint', 'frame', 'model', 'include', 'plugin', 'pose', 'origin', 'static')
# only switches which Gazebo's engines have, without effect on the motion
_SILENT = ('allow_auto_disable', 'self_collide', 'enable_wind', 'model_state', 'joint_state')


def read_robot(source: Source, findings: Findings) -> tuple[RobotDescription | None, str]:
    """Return the model in an SDF file, and its label; see `description.reader`."""
    library = Library(source.package_paths, findings, source.xacro_args)
    file, label = library.open(source.given)
    if file is None:
        return None, label
    entity = _chosen(file, library, source.model)
    if entity is None:
        return None, label
    description = read_model(entity, library)
    if description.root:
        description = replace(description, xml=urdf_text(description))
    apart = pairs_apart(description.links.values())
    return replace(description, files=library.paths, apart=apart), label


def _chosen(file: SdfFile, library: Library, name: str) -> Entity | None:
    """Return the model with a name, or the only one; None, with an error noted, without one."""
    models = [entity_of(node, file) for node in file.root.findall('model')]
    for world in file.root.findall('world'):
        models += [entity_of(node, file) for node in world.findall('model')]
        included = (library.included(node, file, 1) for node in world.findall('include'))
        models += [each for each in included if each is not None and each.element.tag == 'model']
    found = [each for each in models if name in ('', each.name)]
    if len(found) == 1:
        return found[0]
    place = Place('document', line=file.root.line)
    names = [each.name for each in models]
    if not models:
        library.findings.error('no-model', place, 'holds no <model>')
    elif name:
        library.findings.error('unknown-model', place, unknown('model', name, names), value=name)
    else:
        shown = ', '.join(names[:10])
        message = f'holds {len(models)} models: load it as a world, or choose one of {shown}'
        library.findings.error('several-models', place, message)
    return None


def read_model(
    entity: Entity, library: Library, scope: Scope | None = None, *, is_placed: bool = True
) -> RobotDescription:
    """
    Return a model with its nested models, checked; defects are among the library's findings.

    scope: its frames, if they are known already. is_placed: whether the base pose includes the
    model's pose; else it is the root link's pose in the model.
    """
    findings = library.findings
    scope = build_scope(entity, library) if scope is None else scope
    is_static = is_static_model(entity, findings)
    links: dict[str, LinkDescription] = {}
    poses: dict[str, Pose] = {}
    joints: list[SdfJoint] = []
    for inner, at in placed_scopes(scope):
        context = Context(library, inner.entity.file, is_static)
        tags = Tags(inner.entity.element, inner.entity.place, findings)
        wind, collides = tags.flag('enable_wind'), tags.flag('self_collide')
        for node in tags.findall('link'):
            full = inner.prefix + node.get('name')
            if node.get('name') and full not in links:
                links[full] = build_link(node, inner, context, wind, collides)
                poses[full] = at @ inner.pose_of(node.get('name'))
        joints += read_joints(inner, at, findings)
        tags.ignore(('gripper',), 'grasping is left to contact')
        tags.close((*_MODEL_TAGS, *_SILENT))
    description = RobotDescription(
        entity.name or 'model',
        '',
        MappingProxyType(links),
        MappingProxyType({}),
        (),
        Report(library.main),
        source=library.main,
        format=SDF.name,
    )
    if not links:
        findings.warning('no-links', entity.place, 'has no link: there is nothing to simulate')
        return description
    pose = scope.own_pose()[0] if is_placed else Pose()
    if is_static:
        return _static(description, poses, pose, scope, library)
    description = _jointed(description, poses, joints, scope, findings)
    root = poses.get(description.root, Pose())
    description = replace(description, base_pose=pose @ root)
    return _with_devices(description, scope, library)


def is_static_model(entity: Entity, findings: Findings) -> bool:
    """Return whether a model never moves."""
    if entity.static is not None:
        return entity.static
    tags = Tags(entity.element, entity.place, findings)
    # an attribute before SDF 1.3
    return tags.flag('static')


def placed_scopes(scope: Scope) -> list[tuple[Scope, Pose]]:
    """Return a model and its nested models, outermost first, each with its frame's pose."""
    found = [(scope, Pose())]
    for outer, at in found:
        found += [(inner, at @ outer.pose_of(name)) for name, inner in outer.models.items()]
    return found


def _static(
    description: RobotDescription,
    poses: Mapping[str, Pose],
    pose: Pose,
    scope: Scope,
    library: Library,
) -> RobotDescription:
    """Return a static model: its links are fixed to the first one."""
    root = next(iter(poses))
    joints = {
        f'{name}_static': JointDescription(
            f'{name}_static',
            JointType.FIXED,
            root,
            name,
            poses[root].inverse @ own,
            read_only([1.0, 0.0, 0.0]),
        )
        for name, own in poses.items()
        if name != root
    }
    description = replace(
        description,
        root=root,
        joints=MappingProxyType(joints),
        is_welded=True,
        base_pose=pose @ poses[root],
    )
    return _with_devices(description, scope, library)


def _jointed(
    description: RobotDescription,
    poses: Mapping[str, Pose],
    joints: list[SdfJoint],
    scope: Scope,
    findings: Findings,
) -> RobotDescription:
    """Return a description with its joints, loops and checks."""
    known = {joint.name for joint in joints}
    canonical = scope.body_of('') or ''
    if len(known) < len(joints):
        # reported with the frames
        joints = [*{joint.name: joint for joint in reversed(joints)}.values()][::-1]
    mechanism = Mechanism(poses, joints, canonical, findings)
    mechanism.couple(joints)
    links = {**mechanism.links, **description.links}
    tree = resolve_mimics(mechanism.joints, findings)
    check_mimic_limits(tree, findings)
    description = replace(
        description,
        root=mechanism.root,
        links=MappingProxyType(links),
        joints=MappingProxyType(tree),
    )
    loops = declared_loops(mechanism.loops, {**poses, WORLD: Pose()}, description, findings)
    description = replace(description, constraints=attach(loops, description, findings))
    inertia.check_links(description, findings)
    if not findings.report('').errors:
        checked = inertia.check_joints(description, findings)
        description = replace(description, joints=MappingProxyType(checked))
    return description


def _with_devices(
    description: RobotDescription, scope: Scope, library: Library
) -> RobotDescription:
    """Return a description with its sensors, drives and other plugin effects."""
    findings = library.findings
    devices = Devices(description.links, description.joints)
    for inner in scope.all_models():
        devices.add(inner, findings)
    root = devices.root
    if all(node.tag != 'gazebo' for node in root):
        return description
    description = replace(description, sensors=read_sensors(root, description, findings))
    folder = scope.entity.file.folder
    description = with_drives(root, description, folder, library.package_paths, findings)
    description = with_plugin_effects(root, description, findings)
    return with_wheel_slip(root, description, findings)
