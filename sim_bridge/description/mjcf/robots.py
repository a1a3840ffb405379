"""
Robots of a compiled model: each tree of bodies below the world.

A tree with joints is a robot, a body with a free joint alone an object, a tree without joints part
of the static world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np

from sim_bridge.description.actuators import ActuatorDescription
from sim_bridge.description.formats import MJCF
from sim_bridge.description.mjcf.actuators import Actuators
from sim_bridge.description.mjcf.compiled import CompiledModel, pose_of
from sim_bridge.description.mjcf.contacts import Contacts
from sim_bridge.description.mjcf.equalities import loops_of, with_mimics
from sim_bridge.description.mjcf.fluids import fields_of
from sim_bridge.description.mjcf.geometry import Geoms
from sim_bridge.description.mjcf.joints import free_joint, joints_of
from sim_bridge.description.mjcf.keyframes import keyframes_of
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.sensors import with_devices
from sim_bridge.description.mjcf.tendons import couplings_of
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.report import Report
from sim_bridge.foundation.names import free_name

_X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Tree:
    """
    Bodies below one child of the world.

    root: that child's number. bodies: all, parents first. is_free: whether the root has a free
    joint. moves: whether any joint is in it. is_mocap: whether it moves by given poses.
    """

    root: int
    bodies: tuple[int, ...]
    is_free: bool
    joint_count: int
    is_mocap: bool

    @property
    def is_object(self) -> bool:
        """Whether it is one rigid body that moves freely."""
        return self.is_free and self.joint_count == 1

    @property
    def is_robot(self) -> bool:
        """Whether it has joints between its bodies, or to the world."""
        return self.joint_count > int(self.is_free)


def trees_of(model: CompiledModel) -> list[Tree]:
    """Return the trees, in file order."""
    mocap = model.get('body_mocapid')
    found = []
    for root in model.children[0]:
        bodies = tuple(_below(model, root))
        joints = [joint for body in bodies for joint in model.of_body('jnt', body)]
        own = model.of_body('jnt', root)
        is_free = bool(own) and model.words('jnt_type')[own[0]] == 'free'
        is_mocap = mocap is not None and bool(mocap[root] >= 0)
        found.append(Tree(root, bodies, is_free, len(joints), is_mocap))
    return found


def _below(model: CompiledModel, body: int) -> Iterator[int]:
    waiting = [body]
    while waiting:
        body = waiting.pop()
        yield body
        waiting += reversed(model.children[body])


class RobotMaker:
    """Descriptions of the trees in one model."""

    def __init__(self, model: CompiledModel, notes: Notes, is_world: bool = False):
        """
        Read the contact rules.

        notes: receives elements without simulation. is_world: whether all trees are read.
        """
        self.model, self.notes, self.is_world = model, notes, is_world
        self.contacts = Contacts(model, notes)
        self.geoms = Geoms(model, self.contacts, notes)

    def describe(self, tree: Tree, name: str) -> RobotDescription:
        """Return the robot, object or fixture of one tree."""
        return _Robot(self, tree).description(name)


class _Robot:
    """One tree on its way to a description."""

    def __init__(self, maker: RobotMaker, tree: Tree):
        self._maker, self._model, self._notes = maker, maker.model, maker.notes
        self._tree = tree
        self._links: dict[str, LinkDescription] = {}
        self._joints: dict[str, JointDescription] = {}
        self._taken = set(self._names.values())

    @cached_property
    def _names(self) -> dict[int, str]:
        """Link names by body."""
        return {body: self._model.name('body', body) for body in self._tree.bodies}

    def description(self, name: str) -> RobotDescription:
        model, root = self._model, self._tree.root
        root_name, base = self._names[root], self._base_pose()
        hangs = not self._tree.is_free and bool(model.of_body('jnt', root))
        if hangs:
            root_name, base = free_name(f'{root_name}_base', self._taken.__contains__), Pose()
            self._taken.add(root_name)
            self._links[root_name] = LinkDescription(root_name, line=model.line('body', root))
        if self._tree.is_free:
            free_joint(model, root, self._notes)
        for body in self._tree.bodies:
            if body != root or hangs:
                self._join(body, root_name)
            own = self._link(body)
            self._links[own.name] = own
        self._add_sites()
        description = RobotDescription(
            name=name,
            root=root_name,
            links=MappingProxyType(self._links),
            joints=MappingProxyType(with_mimics(self._joints, model, self._notes)),
            sensors=(),
            report=Report(model.label),
            source=model.label,
            is_welded=not self._tree.is_free,
            base_pose=base,
            positions=MappingProxyType(self._positions()),
            files=model.files,
            format=MJCF.name,
            separated=frozenset(self._separated()),
            apart=self._maker.contacts.apart,
            constraints=tuple(loops_of(model, self._names, self._notes, self._maker.is_world)),
        )
        couplings = tuple(couplings_of(model, description.joints, self._notes))
        fields = tuple(fields_of(model, self._names)) if self._moves() else ()
        description = replace(description, couplings=couplings, force_fields=fields)
        description = replace(description, actuators=tuple(self._actuators(description)))
        keyframes = tuple(keyframes_of(model, self._names, description))
        description = replace(description, keyframes=keyframes)
        return with_devices(description, model, self._names, self._notes)

    def _actuators(self, description: RobotDescription) -> Iterator[ActuatorDescription]:
        is_fixed = description.is_welded
        base = (description.root, description.base_pose) if is_fixed else None
        names = {each.name for each in description.couplings}
        return Actuators(
            self._model, self._names, description.joints, names, base, self._notes
        ).read()

    def _moves(self) -> bool:
        return self._tree.joint_count > 0

    def _base_pose(self) -> Pose:
        model, root = self._model, self._tree.root
        if not self._tree.is_free:
            return model.pose('body', root)
        at = int(model['jnt_qposadr'][model.of_body('jnt', root)[0]])
        return pose_of(model['qpos0'][at : at + 3], model['qpos0'][at + 3 : at + 7])

    def _join(self, body: int, root_name: str) -> None:
        parent = int(self._model['body_parentid'][body])
        above = self._names.get(parent, root_name)
        own = self._names[body]
        for joint, link in joints_of(self._model, body, above, own, self._taken, self._notes):
            self._joints[joint.name] = joint
            if link is not None:
                self._links[link.name] = link

    def _link(self, body: int) -> LinkDescription:
        model = self._model
        visuals, collisions = self._maker.geoms.of_body(body)
        compensation = float(model['body_gravcomp'][body])
        if compensation not in (0.0, 1.0):
            self._notes.left_out('body', body, 'gravity acts as a whole or not at all', 'gravcomp')
        return LinkDescription(
            self._names[body],
            self._inertial(body),
            visuals,
            collisions,
            gravity=compensation != 1.0,
            line=model.line('body', body),
        )

    def _inertial(self, body: int) -> Inertial | None:
        model = self._model
        mass = float(model['body_mass'][body])
        if mass <= 0.0:
            return None
        pose = pose_of(model['body_ipos'][body], model['body_iquat'][body])
        inertia = np.diag(model['body_inertia'][body].astype(float))
        return Inertial(mass, pose, inertia, model.line('body', body))

    def _add_sites(self) -> None:
        """Add each named site as a frame: a link fixed to its body's."""
        model = self._model
        for body in self._tree.bodies:
            for site in model.of_body('site', body):
                if not model.has_name('site', site):
                    continue
                line = model.line('site', site)
                name = free_name(model.name('site', site), self._taken.__contains__)
                self._taken.add(name)
                self._links[name] = LinkDescription(name, line=line)
                joint = free_name(f'{name}_fixed', self._joints.__contains__)
                self._joints[joint] = JointDescription(
                    joint,
                    JointType.FIXED,
                    self._names[body],
                    name,
                    model.pose('site', site),
                    _X,
                    line=line,
                )

    def _positions(self) -> Mapping[str, float]:
        """Return qpos0 for one-axis joints whose reference is not 0."""
        model, found = self._model, {}
        for body in self._tree.bodies:
            for joint in model.of_body('jnt', body):
                if model.words('jnt_type')[joint] in ('hinge', 'slide'):
                    value = float(model['qpos0'][model['jnt_qposadr'][joint]])
                    found[model.name('jnt', joint)] = value
        return found

    def _separated(self) -> Iterator[frozenset[str]]:
        for one, other in self._maker.contacts.separated():
            if one in self._names and other in self._names:
                yield frozenset((self._names[one], self._names[other]))
