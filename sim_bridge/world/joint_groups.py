"""Named joint groups, to enable, disable or remove together; after ODE's joint groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import ByName, new_name
from sim_bridge.foundation.validation import items_of, truth
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.world.spanning_tree import SpanningTree

_ANY = Joint | ConstraintJoint


class JointGroup(DeclaredAttributes, Sequence[_ANY]):
    """
    A sequence of joints from `World.joints`; a joint may be in several groups.

    A joint removed from the world leaves its groups.
    """

    __slots__ = ('_groups', '_keys', 'name')
    internal_names = DeclaredAttributes.internal_names | {'keys'}

    def __init__(self, groups: JointGroups, name: str):
        """Create an empty group; use `JointGroups.add`."""
        self._groups = groups
        self._keys: dict[str, _ANY] = {}
        self.name = name

    def __repr__(self) -> str:
        """Show the names of the joints."""
        return f'<JointGroup {self.name!r}: {", ".join(self.keys()) or "no joints"}>'

    def __len__(self) -> int:
        """Return the joint count."""
        return len(self._present())

    @overload
    def __getitem__(self, index: int) -> _ANY: ...
    @overload
    def __getitem__(self, index: slice) -> list[_ANY]: ...

    def __getitem__(self, index: int | slice) -> _ANY | list[_ANY]:
        """Return one joint, or a list for a slice, in the order added."""
        return self._present()[index]

    def add(self, *joints: _ANY) -> None:
        """Add joints; raise InvalidValueError and add none if one is not in `World.joints`."""
        known, place = self._groups.tree.joints, f'joint group {self.name!r}'
        for joint in joints:
            if not isinstance(joint, AnyJoint) or known.get(str(joint.key)) is not joint:
                raise InvalidValueError('joint', joint, 'one of World.joints', place)
        self._keys.update({str(joint.key): joint for joint in joints})

    def discard(self, *joints: _ANY) -> None:
        """Take joints from the group; they stay in the world."""
        for joint in joints:
            if isinstance(joint, AnyJoint):
                self._keys.pop(str(joint.key), None)

    @property
    def enabled(self) -> bool:
        """
        Whether all joints in the group act; can be set for all at once.

        A disabled joint counts as broken (`ConstraintJoint.is_broken`), so `World.reset` enables
        it. Setting raises StateError and changes no joint if one is part of a tree.
        """
        return not any(isinstance(each, ConstraintJoint) and each.is_broken for each in self)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        is_on = truth('enabled', value, f'joint group {self.name!r}')
        switched = []
        for joint in self:
            if not isinstance(joint, ConstraintJoint):
                raise StateError(
                    f'joint {joint.name!r} is part of a tree and cannot be disabled: remove it, '
                    'or add it with add_joint(…, tree=False)'
                )
            switched.append(joint)
        for joint in switched:
            joint.is_broken = not is_on

    def remove_joints(self) -> None:
        """Remove all joints in the group from the world; the group stays, empty."""
        for joint in self._present():
            self._groups.tree.remove(joint)
        self._keys.clear()

    def keys(self) -> list[str]:
        """Return the names of the joints in `World.joints`."""
        return [str(joint.key) for joint in self._present()]

    def _present(self) -> list[_ANY]:
        known = self._groups.tree.joints
        return [joint for key, joint in self._keys.items() if known.get(key) is joint]


class JointGroups(DeclaredAttributes, Mapping[str, JointGroup]):
    """A world's joint groups by name."""

    __slots__ = ('_groups', 'tree')
    internal_names = DeclaredAttributes.internal_names | {'records', 'restore', 'tree'}

    def __init__(self, tree: SpanningTree):
        """Start without groups."""
        self.tree = tree
        self._groups: ByName[JointGroup] = ByName('joint group', 'the world')

    def __repr__(self) -> str:
        """Show the names."""
        return f'<JointGroups: {", ".join(self) or "none"}>'

    def __getitem__(self, name: str) -> JointGroup:
        """Return a group by name; raises UnknownNameError."""
        return self._groups[name]

    def __contains__(self, name: object) -> bool:
        """Return whether there is a group with this name."""
        return name in self._groups

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._groups)

    def __len__(self) -> int:
        """Return the group count."""
        return len(self._groups)

    def add(self, name: str | None = None, joints: Iterable[_ANY] = ()) -> JointGroup:
        """
        Add a group; return it.

        name: unique; if None, 'group', with a number if it is in use. joints: from `World.joints`.
        Raises InvalidValueError for other joints and for a name in use.
        """
        group = JointGroup(self, new_name(name, 'group', self._groups, 'joint_groups.add'))
        group.add(*items_of('joints', joints, AnyJoint, 'joints'))
        self._groups[group.name] = group
        return group

    def remove(self, name: str) -> None:
        """Remove a group; its joints stay. Raises UnknownNameError."""
        del self._groups[self._groups[name].name]

    def records(self) -> dict[str, list[str]]:
        """Return each group's joint names, by group name."""
        return {name: group.keys() for name, group in self._groups.items()}

    def restore(self, records: Mapping[str, Sequence[str]]) -> None:
        """Add the original world's groups to this copy; records: see `records`."""
        for name, keys in records.items():
            self.add(name, [self.tree.joints[key] for key in keys])
