"""
Robots of a stage: each tree of connected bodies.

A tree with joints is a robot, a single body an object. Colliders without a rigid body are part of
the static world.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from sim_bridge.description.actuators import SiteFrame
from sim_bridge.description.formats import USD
from sim_bridge.description.mechanism.loops import rigid_groups
from sim_bridge.description.model import (
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Report
from sim_bridge.description.usd.assembly import Tree, trees_of
from sim_bridge.description.usd.cameras import with_cameras
from sim_bridge.description.usd.contacts import Contacts
from sim_bridge.description.usd.drives import Drives, with_mimics
from sim_bridge.description.usd.geometry import Shapes
from sim_bridge.description.usd.joints import read_joints, WORLD
from sim_bridge.description.usd.mass import Masses
from sim_bridge.description.usd.mechanism import Mechanism
from sim_bridge.description.usd.stage import Prim, Stage
from sim_bridge.foundation.names import free_name

_SITES = ('MjcSiteAPI', 'NewtonSiteAPI')
_NO_SELF_COLLISIONS = ('physxArticulation:enabledSelfCollisions', 'newton:selfCollisionEnabled')
_X = read_only([1.0, 0.0, 0.0])


class RobotMaker:
    """Tree descriptions in one stage."""

    def __init__(self, stage: Stage, findings: Findings):
        """Read the joints. findings: receives elements without simulation."""
        self.stage, self.findings = stage, findings
        self.contacts = Contacts(stage, findings)
        self.shapes = Shapes(stage, self.contacts, findings)
        self.masses = Masses(stage, findings)
        self.trees = trees_of(stage, read_joints(stage, findings))

    @cached_property
    def sites(self) -> list[Prim]:
        """Frames on bodies: MuJoCo's and Newton's sites."""
        return [prim for prim in self.stage.prims.values() if prim.has(*_SITES)]

    def name(self, tree: Tree) -> str:
        """Return a tree's name: its articulation's above the bodies, or its root's."""
        paths = {prim.path for prim in tree.bodies}
        root = tree.articulation
        if root is not None and root.path not in paths and not root.kind.endswith('Joint'):
            return root.name
        if tree.is_robot and sum(each.is_robot for each in self.trees) == 1:
            return self.stage.default_name or tree.bodies[0].name
        return tree.bodies[0].name

    def describe(self, tree: Tree, name: str) -> RobotDescription:
        """Return one tree's robot or object."""
        return _Robot(self, tree).description(name)

    def scenery(self, name: str) -> RobotDescription | None:
        """Return the shapes fixed to the world as one robot without joints; None without."""
        shapes = self.shapes
        visuals = tuple(shapes.visuals('', Pose()))
        collisions = tuple(
            solid.geometry
            for solid in shapes.solids('', Pose())
            if solid.is_enabled and solid.geometry.kind != 'plane'
        )
        if not visuals and not collisions:
            return None
        link = LinkDescription(name, None, visuals, collisions)
        return RobotDescription(
            name=name,
            root=name,
            links=MappingProxyType({name: link}),
            joints=MappingProxyType({}),
            sensors=(),
            report=Report(self.stage.label),
            source=self.stage.label,
            is_welded=True,
            files=self.stage.files,
            format=USD.name,
            apart=self.contacts.apart,
        )


class _Robot:
    """One tree on its way to a description."""

    def __init__(self, maker: RobotMaker, tree: Tree):
        self._maker, self._tree = maker, tree
        self._stage, self._findings = maker.stage, maker.findings
        self._taken: set[str] = set()
        self._links: dict[str, LinkDescription] = {}
        self._sites: dict[str, SiteFrame] = {}
        self._names: dict[str, str] = {}
        for prim in tree.bodies:
            self._names[prim.path] = self._free(prim.name)

    def _free(self, wanted: str) -> str:
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        return name

    def description(self, name: str) -> RobotDescription:
        tree, stage = self._tree, self._stage
        poses = {prim.path: stage.frame(prim) for prim in tree.bodies}
        if tree.root == WORLD:
            root, base = self._free('world'), Pose()
            self._links[root] = LinkDescription(root)
        else:
            root, base = self._names[tree.root], poses[tree.root]
        for prim in tree.bodies:
            self._links[self._names[prim.path]] = self._link(prim, poses[prim.path])
        made = Mechanism(self._names, poses, root, base, self._taken, self._findings)
        for series in tree.edges:
            made.add(series)
        for body in tree.floating:
            made.add_floating(body)
        self._links |= made.links
        joints = with_mimics(made.joints, stage, made.of_motion, self._findings)
        self._add_sites(poses, joints)
        description = RobotDescription(
            name=name,
            root=root,
            links=MappingProxyType(self._links),
            joints=MappingProxyType(joints),
            sensors=(),
            report=Report(stage.label),
            source=stage.label,
            is_welded=tree.is_fixed,
            base_pose=base,
            positions=MappingProxyType(made.positions),
            files=stage.files,
            format=USD.name,
            apart=self._maker.contacts.apart,
        )
        description = self._with_loops(description, made)
        separated = frozenset(self._separated(description))
        description = replace(description, separated=separated)
        drives = Drives(stage, description, made.of_motion, self._findings)
        description = replace(description, actuators=drives.actuators(self._sites))
        return with_cameras(description, stage, self._names, self._findings)

    def _link(self, body: Prim, frame: Pose) -> LinkDescription:
        maker = self._maker
        solids = list(maker.shapes.solids(body.path, frame))
        for solid in solids:
            if solid.geometry.kind == 'plane':
                message = 'planes are fixed to the world alone'
                self._findings.warning('not-simulated', solid.prim.place, message)
        return LinkDescription(
            self._names[body.path],
            maker.masses.inertial(body, solids),
            tuple(maker.shapes.visuals(body.path, frame)),
            tuple(
                solid.geometry
                for solid in solids
                if solid.is_enabled and solid.geometry.kind != 'plane'
            ),
            gravity=not body.flag('physxRigidBody:disableGravity', False),
        )

    def _add_sites(self, poses: dict[str, Pose], joints: dict[str, JointDescription]) -> None:
        """Add each site as a frame: a link fixed to its body's."""
        for prim in self._maker.sites:
            if prim.body not in self._names:
                continue
            name, body = self._free(prim.name), self._names[prim.body]
            pose = poses[prim.body].inverse @ self._stage.frame(prim)
            self._links[name] = LinkDescription(name)
            joint = free_name(f'{name}_fixed', joints.__contains__)
            joints[joint] = JointDescription(joint, JointType.FIXED, body, name, pose, _X)
            self._sites[prim.path] = SiteFrame(body, pose.position, pose.rotation)

    def _with_loops(self, description: RobotDescription, made: Mechanism) -> RobotDescription:
        found, taken = [], set(description.joints)
        groups = rigid_groups(description)
        for joint in self._tree.loops:
            ends = [
                groups[self._names.get(body, made.root)] for body in (joint.body0, joint.body1)
            ]
            if ends[0] == ends[1]:
                message = 'left out: its bodies are fixed to each other already'
                self._findings.warning('same-body', joint.prim.place, message)
                continue
            constraint = made.loop(joint, taken)
            if constraint is not None:
                taken.add(constraint.name)
                found.append(constraint)
        return replace(description, constraints=tuple(found))

    def _separated(self, description: RobotDescription) -> Iterator[frozenset[str]]:
        """Yield the link pairs without contact."""
        tree = self._tree
        names = list(self._names.values())
        root = tree.articulation
        if root is not None and not all(root.flag(key, True) for key in _NO_SELF_COLLISIONS):
            yield from map(frozenset, combinations(names, 2))
            return
        for joint in (*tree.loops, *(joint for series in tree.edges for joint in series)):
            if not joint.collides and WORLD not in (joint.body0, joint.body1):
                yield frozenset((self._names[joint.body0], self._names[joint.body1]))
        members: dict[str, list[str]] = {}
        for link, head in rigid_groups(description).items():
            if link in self._links:
                members.setdefault(head, []).append(link)
        for links in members.values():
            yield from map(frozenset, combinations(links, 2))
