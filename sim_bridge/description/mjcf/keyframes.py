"""Keyframes of MJCF models as named states of each robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from sim_bridge.description.keyframes import KeyframeDescription
from sim_bridge.description.mjcf.compiled import CompiledModel, pose_of
from sim_bridge.description.model import RobotDescription
from sim_bridge.foundation.rotation import quaternion_from_matrix


def keyframes_of(
    model: CompiledModel, bodies: Mapping[int, str], description: RobotDescription
) -> Iterator[KeyframeDescription]:
    """Yield the keyframes for one robot. bodies: link names by body."""
    for number in range(model.count('key')):
        yield _Keyframe(model, number, bodies, description).read()


class _Keyframe:
    """One keyframe on its way to a description."""

    def __init__(
        self,
        model: CompiledModel,
        number: int,
        bodies: Mapping[int, str],
        description: RobotDescription,
    ):
        self._model, self._number, self._bodies = model, number, bodies
        self._robot = description
        self._q = model['key_qpos'][number].astype(float)
        self._v = model['key_qvel'][number].astype(float)

    def read(self) -> KeyframeDescription:
        model, positions, velocities = self._model, {}, {}
        base = base_velocity = None
        for joint, kind in enumerate(model.words('jnt_type')):
            if int(model['jnt_bodyid'][joint]) not in self._bodies:
                continue
            q, v = (int(model[f'jnt_{name}'][joint]) for name in ('qposadr', 'dofadr'))
            if kind == 'free':
                pose = pose_of(self._q[q : q + 3], self._q[q + 3 : q + 7])
                base = pose.position, pose.rotation
                # MuJoCo's angular velocity is in body axes
                base_velocity = self._v[v : v + 3], pose.rotation @ self._v[v + 3 : v + 6]
            elif kind == 'ball':
                turned = pose_of(np.zeros(3), self._q[q : q + 4]).rotation
                name = model.name('jnt', joint)
                positions[name] = quaternion_from_matrix(turned)
                velocities[name] = turned @ self._v[v : v + 3]
            else:
                name = model.name('jnt', joint)
                positions[name], velocities[name] = self._q[q : q + 1], self._v[v : v + 1]
        return KeyframeDescription(
            model.name('key', self._number),
            MappingProxyType(positions),
            MappingProxyType(velocities),
            base,
            base_velocity,
            MappingProxyType(self._controls()),
            model.place('key', self._number).line,
        )

    def _controls(self) -> dict[str, float]:
        model = self._model
        own = {actuator.name for actuator in self._robot.actuators}
        names = [model.name('actuator', each) for each in range(model.count('actuator'))]
        controls = model['key_ctrl'][self._number].astype(float).tolist()
        return {
            name: value
            for name, value in zip(names, controls, strict=False)
            if name in own and len(controls) == len(names)
        }
