"""Reading a robot from a USD stage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from sim_bridge.description.mechanism import inertia
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, unknown
from sim_bridge.description.urdf.write import urdf_text
from sim_bridge.description.usd.assembly import Tree
from sim_bridge.description.usd.refusals import name_others, stage_place
from sim_bridge.description.usd.robots import RobotMaker
from sim_bridge.description.usd.stage import read_stage, Stage
from sim_bridge.foundation.names import counted


def read_robot(source: Source, findings: Findings) -> tuple[RobotDescription | None, str]:
    """Return the robot in a stage; see `RobotReader.read_robot`."""
    label = str(source.given)
    stage = read_stage(source, findings)
    if stage is None:
        return None, label
    name_others(stage, findings)
    maker = RobotMaker(stage, findings)
    tree = _chosen(maker, source.model, findings)
    if tree is None:
        return None, label
    return finished(maker.describe(tree, robot_name(maker, tree, source)), findings), label


def robot_name(maker: RobotMaker, tree: Tree, source: Source) -> str:
    """Return a robot's name; without one, the file's."""
    return maker.name(tree) or Path(str(source.given)).stem


def finished(description: RobotDescription, findings: Findings) -> RobotDescription:
    """Return a description with checked mass properties, and its URDF."""
    # links between one joint's motions, and sites, have no mass
    own = {name: link for name, link in description.links.items() if link.inertial is not None}
    inertia.check_links(replace(description, links=own), findings)
    if findings.report('').ok:
        joints = inertia.check_joints(description, findings)
        description = replace(description, joints=MappingProxyType(joints))
    return replace(description, xml=urdf_text(description))


def _chosen(maker: RobotMaker, wanted: str, findings: Findings) -> Tree | None:
    """Return the tree that is the file's robot; None, with an error, if there are several."""
    place = stage_place(maker.stage)
    if wanted:
        names = {maker.name(tree): tree for tree in maker.trees}
        if wanted not in names:
            findings.error('unknown-model', place, unknown('robot', wanted, names))
            return None
        robots = [names[wanted]]
    else:
        robots = [tree for tree in maker.trees if tree.is_robot] or maker.trees
    if not robots:
        findings.error('no-links', place, 'has no rigid body: there is no robot to load')
        return None
    if len(robots) > 1:
        shown = ', '.join(maker.name(tree) for tree in robots[:10])
        message = (
            f'has {len(robots)} robots: {shown}; load it as a world, or one of them by its name'
        )
        findings.error('several-robots', place, message)
        return None
    others = len(maker.trees) - 1 + count_fixed(maker.stage)
    if others:
        message = f'{counted(others, "object")} of its world left out; load it as a world for them'
        findings.warning('left-to-world', place, message)
    return robots[0]


def count_fixed(stage: Stage) -> int:
    """Count the colliders fixed to the world."""
    return sum(
        prim.has('PhysicsCollisionAPI')
        and not prim.body
        and prim.flag('physics:collisionEnabled', True)
        for prim in stage.prims.values()
    )
