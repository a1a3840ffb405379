"""Constraint joint relocation in a running world: anchors, axes and connected links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.attributes import Settable
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.arguments import check_crossing, check_distance, direction, Links
from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.frame import JointFrame
from sim_bridge.robots.joints.spec import spec_at, WITH_AXIS, WITH_AXIS2


def _settable(
    name: str, write: Callable[[Any, object], None], doc: str
) -> Settable[FloatArray, Vector]:
    """Return a settable version of an `AnyJoint` property."""
    return Settable(getattr(AnyJoint, name).fget, write, doc=doc)


class PlaceableJoint(AnyJoint):
    """Constraint joint with settable anchors and axes; base class for `ConstraintJoint`."""

    __slots__ = ()
    internal_names = AnyJoint.internal_names | {'attach'}

    is_tree = False
    _backend: ConstraintJointBackend

    def __init__(self, backend: ConstraintJointBackend):
        """Make the view of a constraint joint; the backend reads and writes its values."""
        super().__init__(backend)
        backend.joint = self

    def _set_anchor(self, value: object) -> None:
        point = finite_vector('anchor', value, 3, self.place, '3 finite numbers [m]')
        spec = self._backend.spec
        first, second = _moved(spec.first, point), spec.second
        if self.type != 'distance':
            second = _moved(second, point)
        self._place_at(first, second)

    def _set_anchor2(self, value: object) -> None:
        point = finite_vector('anchor2', value, 3, self.place, '3 finite numbers [m]')
        spec = self._backend.spec
        self._place_at(spec.first, _moved(spec.second, point))

    def _set_axis(self, value: object) -> None:
        if self.type not in WITH_AXIS:
            raise StateError(f'{self.place} is {self.type} and has no axis to set')
        axis2 = self.axis2 if self.type in WITH_AXIS2 else None
        self._turn_to(direction('axis', value, self.place), axis2, 'axis', value)

    def _set_axis2(self, value: object) -> None:
        if self.type not in WITH_AXIS2:
            raise StateError(f'{self.place} is {self.type} and has no second axis to set')
        self._turn_to(self.axis, direction('axis2', value, self.place), 'axis2', value)

    anchor: Settable[FloatArray, Vector] = _settable(
        'anchor',
        _set_anchor,
        """
        (3,) joint frame position on the first link [m], world; can be set.

        Named after ODE's anchor. Setting it places the joint at this point on both links; slider
        positions are 0 there. A distance joint keeps its other anchor and takes the new distance.
        Raises InvalidValueError unless given three finite numbers.
        """,
    )
    anchor2: Settable[FloatArray, Vector] = _settable(
        'anchor2',
        _set_anchor2,
        """
        (3,) joint frame position on the second link [m], world; can be set.

        If the two anchors differ afterwards, the joint closes the gap; a distance joint takes the
        new distance instead. Raises InvalidValueError unless given three finite numbers.
        """,
    )
    axis: Settable[FloatArray, Vector] = _settable(
        'axis',
        _set_axis,
        """
        (3,) unit vector along the first axis, fixed to the first link; world axes; can be set.

        Accepts a vector of any length. Afterwards the joint's coordinates are 0 at the current
        poses of the links, also after `World.reset`. Raises StateError for a joint without an
        axis.
        """,
    )
    axis2: Settable[FloatArray, Vector] = _settable(
        'axis2',
        _set_axis2,
        """
        (3,) unit vector along the last axis, fixed to the second link; world axes; can be set.

        Only for 'universal', 'hinge2' and 'perpendicular'; otherwise as `axis`.
        """,
    )

    def attach(self, links: Links) -> None:
        """Connect other links at the current anchors and axes; `World` calls it after checks."""
        spec, axes = self._backend.spec, self._backend.free
        anchors = self.anchor, self.anchor2 if self.type == 'distance' else self.anchor
        first, across = self.axis, self.rotation[:, 0]
        axis2 = self.axis2 if self.type in WITH_AXIS2 else None
        if self.type == 'angular_motor' and not axes.are_users:
            across = axes.directions()[2]
        normal = across if axis2 is None else None
        placed = spec_at(spec.name, spec.type, links, anchors, first, axis2, normal)
        vectors = spec.vectors
        if vectors is not None:
            vectors = axes.vectors_on(placed.first, placed.second)
        self._backend.become(
            replace(
                spec, first=placed.first, second=placed.second, axis2=placed.axis2, vectors=vectors
            )
        )

    def _turn_to(
        self, axis: FloatArray, axis2: FloatArray | None, what: str, value: object
    ) -> None:
        """Set the axes at the current poses; what, value: argument as given, for messages."""
        if axis2 is not None:
            check_crossing(what, value, axis, axis2, self.place)
        spec = self._backend.spec
        placed = spec_at(
            spec.name,
            spec.type,
            (spec.first.link, spec.second.link),
            (self.anchor, self.anchor2),
            axis,
            axis2,
        )
        self._backend.become(
            replace(spec, first=placed.first, second=placed.second, axis2=placed.axis2)
        )

    def _place_at(self, first: JointFrame, second: JointFrame) -> None:
        spec = replace(self._backend.spec, first=first, second=second)
        if self.type == 'distance':
            distance = float(np.linalg.norm(second.pose[1] - first.pose[1]))
            check_distance('anchor', second.pose[1], distance, self.place)
            spec = replace(spec, distance=distance)
        self._backend.become(spec)


def _moved(frame: JointFrame, point: np.ndarray) -> JointFrame:
    """Return a frame with its origin moved to a world point [m]."""
    place = point if frame.link is None else frame.link.point_from_world(point)
    return frame._replace(position=place)
