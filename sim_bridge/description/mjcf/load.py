"""Reading a robot from an MJCF file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.mechanism import inertia
from sim_bridge.description.mjcf.compiled import compile_mjcf, CompiledModel
from sim_bridge.description.mjcf.flags import obeying_flags
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.refusals import refuse
from sim_bridge.description.mjcf.robots import RobotMaker, Tree, trees_of
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.foundation.names import counted

# MuJoCo's name for a model without one
_UNNAMED = 'MuJoCo Model'


def read_robot(source: Source, findings: Findings) -> tuple[RobotDescription | None, str]:
    """Return the robot in a file; see `RobotReader.read_robot`."""
    label = '<string>' if source.path is None else str(source.path)
    model = compile_mjcf(source, findings)
    if model is None:
        return None, label
    model = obeying_flags(model)
    notes = Notes(model, findings)
    trees = trees_of(model)
    refuse(notes)
    tree = _chosen(model, trees, source.model, findings)
    if tree is None:
        return None, label
    maker = RobotMaker(model, notes)
    for body in tree.bodies:
        for geom in filter(maker.geoms.is_ground, model.of_body('geom', body)):
            notes.left_out('geom', geom, 'only worlds have planes and height fields')
    description = maker.describe(tree, robot_name(model, source))
    return finished(description, findings), label


def finished(description: RobotDescription, findings: Findings) -> RobotDescription:
    """Return a description with checked mass properties, and its URDF."""
    # links between the joints of one body have no mass
    own = {name: link for name, link in description.links.items() if link.inertial is not None}
    inertia.check_links(replace(description, links=own), findings)
    if findings.report('').ok:
        joints = inertia.check_joints(description, findings)
        description = replace(description, joints=MappingProxyType(joints))
    return replace(description, xml=urdf_text(description))


def robot_name(model: CompiledModel, source: Source) -> str:
    """Return the model's name; the file's, if it has none."""
    name = str(model.texts['model'])
    if name and name != _UNNAMED:
        return name
    return 'robot' if source.path is None else Path(source.path).stem


def gravity_of(model: CompiledModel) -> tuple[float, float, float]:
    """Return the gravity (3,) [m/s²]; 0 if a flag disables it."""
    if 'gravity' in model.texts['disabled']:
        return 0.0, 0.0, 0.0
    x, y, z = map(float, model.option('gravity'))
    return x, y, z


def _chosen(
    model: CompiledModel, trees: list[Tree], wanted: str, findings: Findings
) -> Tree | None:
    """Return the tree that is the file's robot; None, with an error, if there are several."""
    place = Place('mujoco', model.texts['model'])
    names = {model.name('body', tree.root): tree for tree in trees}
    if wanted:
        if wanted not in names:
            findings.error('unknown-model', place, unknown('body', wanted, names))
            return None
        robots = [names[wanted]]
    else:
        robots = [tree for tree in trees if tree.is_robot]
        robots = robots or [tree for tree in trees if tree.is_free] or trees
    if not robots:
        findings.error('no-links', place, 'has no body: there is no robot to load')
        return None
    if len(robots) > 1:
        shown = ', '.join(model.name('body', tree.root) for tree in robots[:10])
        message = (
            f'has {len(robots)} robots: {shown}; load it as a world, or one of them by its name'
        )
        findings.error('several-robots', place, message)
        return None
    others = len(trees) - 1 + len(model.of_body('geom', 0))
    if others:
        message = f'{counted(others, "object")} of its world left out; load it as a world for them'
        findings.warning('left-to-world', place, message)
    return robots[0]
