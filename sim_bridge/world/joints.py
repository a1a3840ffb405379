"""Adding, attaching and removing joints in a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sim_bridge.engine.data.loops import GONE
from sim_bridge.foundation.arrays import Matrix
from sim_bridge.foundation.validation import truth, truth_or_none
from sim_bridge.robots.joints.added_motor import axis_of, motor_beside
from sim_bridge.robots.joints.arguments import described_spec, motor_spec
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.robot_registry import RobotRegistry
from sim_bridge.world.spanning_tree import SpanningTree

_End = Link | Robot | None


class WorldJoints:
    """Operations for `World.add_joint` and similar methods; errors leave the world unchanged."""

    def __init__(self, simulation: Simulation, tree: SpanningTree, registry: RobotRegistry):
        """Add joints to a tree, or as constraints to a simulation."""
        self._simulation, self._tree, self._registry = simulation, tree, registry

    def add(
        self,
        kind: str,
        first: _End,
        second: _End,
        name: str | None,
        tree: bool | None,
        collide: bool,
        **described: Any,
    ) -> Joint | ConstraintJoint:
        """Add a joint; see `World.add_joint`. described: `described_spec` arguments."""
        links = self._tree.own_links(first, second, 'add_joint')
        if described['compliance'] is None:
            for own in ('erp', 'cfm'):
                if described[own] is None:
                    described[own] = getattr(self._simulation.run.settings, own)
        tree = truth_or_none('tree', tree, 'add_joint')
        collide = truth('collide', collide, 'add_joint')
        spec = described_spec(kind, links, **described)
        spec = replace(spec, name=self._tree.free_name(name, kind))
        with self._registry.all_or_nothing():
            joint = self._tree.add(spec, tree)
            one, other = links
            if not collide and spec.holds and one is not None and other is not None:
                self._simulation.registry.separate(one.slot, other.slot)
        return joint

    def add_angular_motor(
        self,
        first: _End,
        second: _End,
        axes: Matrix,
        fixed_on: Sequence[str] | None,
        is_euler: bool,
        name: str | None,
    ) -> ConstraintJoint:
        """Add an angular motor; see `World.add_angular_motor`."""
        links = self._tree.own_links(first, second, 'add_angular_motor')
        key = self._tree.free_name(name, 'angular_motor')
        spec = motor_spec(key, links, axes, fixed_on, is_euler)
        with self._registry.all_or_nothing():
            return self._tree.constrain(key, spec)

    def add_motor(self, axis: Axis | Joint | ConstraintJoint, name: str | None) -> ConstraintJoint:
        """Add a motor beside that of an axis; see `World.add_motor`."""
        own = axis_of(axis)
        spec = motor_beside(own)
        self._tree.own_links(spec.first.link, spec.second.link, 'add_motor')
        spec = replace(spec, name=self._tree.free_name(name, spec.type))
        with self._registry.all_or_nothing():
            motor = self._tree.constrain(spec.name, spec)
            # start from the axis position, including full turns
            motor.axes[0].backend.write('q', slice(None), own.q)
        return motor

    def broken(self) -> list[str]:
        """Return the names of the broken joints."""
        constraints, gone = (
            self._simulation.registry.constraints,
            self._simulation.cache.state.loop_broken & GONE,
        )
        return [key for key, is_gone in zip(constraints, gone, strict=True) if is_gone]

    def attach(self, joint: ConstraintJoint, first: _End, second: _End) -> None:
        """Attach a joint to other links; see `World.attach_joint`."""
        links = self._tree.own_links(first, second, 'attach_joint')
        with self._registry.all_or_nothing():
            self._tree.attach(joint, links)

    def remove(self, joint: Joint | ConstraintJoint) -> None:
        """Remove a joint; see `World.remove_joint`."""
        with self._registry.all_or_nothing():
            self._tree.remove(joint)
