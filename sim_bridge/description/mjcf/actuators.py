"""
Actuators of MJCF models, with their transmissions and activation dynamics.

The law of `description.actuators` is MuJoCo's, so the compiled numbers are taken over.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import numpy as np

from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingTransmission,
    CrankTransmission,
    DYNAMICS,
    ENDLESS,
    JointTransmission,
    Range,
    SiteFrame,
    SiteTransmission,
    Transmission,
)
from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.flags import is_enabled
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.tendons import is_fixed, joints_of_tendon
from sim_bridge.description.model import JointDescription, JointType, Pose

_JOINTS = {'joint': False, 'jointinparent': True}
_AT_SITES = ('site', 'slidercrank')
# newer features without counterpart, by array
_UNUSUAL = {
    'actuator_armature': 'armature',
    'actuator_damping': 'damping',
    'actuator_delay': 'delay',
}


def why_unsupported(model: CompiledModel, number: int) -> str:
    """Return the reason for an actuator without simulation; '' for one that is simulated."""
    transmission = model.words('actuator_trntype')[number]
    if transmission == 'tendon':
        if not is_fixed(model, int(model['actuator_trnid'][number, 0])):
            return 'actuators on spatial tendons are not simulated'
    elif transmission not in (*_JOINTS, *_AT_SITES):
        return f'actuators on a {transmission} are not simulated'
    for array, allowed in (
        ('actuator_dyntype', DYNAMICS),
        ('actuator_gaintype', ('fixed', 'affine')),
        ('actuator_biastype', ('none', 'affine')),
    ):
        word = model.words(array)[number]
        if word not in allowed:
            return f'actuators of type {word} are not simulated'
    counts = (model.get(f'actuator_{name}num') for name in ('ctrl', 'out'))
    if any(each is not None and int(each[number]) != 1 for each in counts):
        return 'actuators with several controls or forces are not simulated'
    return ''


class Actuators:
    """
    Actuators for one robot.

    links: link names by body. couplings: its fixed tendon names. base: the root link and its
    pose in the world, if it is fixed.
    """

    def __init__(
        self,
        model: CompiledModel,
        links: Mapping[int, str],
        joints: Mapping[str, JointDescription],
        couplings: Container[str],
        base: tuple[str, Pose] | None,
        notes: Notes,
    ):
        """Start without actuators; the arguments are the robot's parts."""
        self._model, self._links, self._joints = model, links, joints
        self._couplings, self._base, self._notes = couplings, base, notes

    def read(self) -> Iterator[ActuatorDescription]:
        """Yield the actuators whose joint or site is on the robot."""
        for number in range(self._model.count('actuator')):
            is_left_out = bool(why_unsupported(self._model, number))
            if is_left_out or not is_enabled(self._model, number) or not self._is_own(number):
                continue
            transmission = self._transmission(number)
            if transmission is not None:
                yield self._actuator(number, transmission)

    def _is_own(self, number: int) -> bool:
        first = int(self._model['actuator_trnid'][number, 0])
        if self._model.words('actuator_trntype')[number] == 'tendon':
            joints = joints_of_tendon(self._model, first)
            return any(self._model['jnt_bodyid'][joint] in self._links for joint in joints)
        kind = 'jnt' if self._model.words('actuator_trntype')[number] in _JOINTS else 'site'
        return int(self._model[f'{kind}_bodyid'][first]) in self._links

    def _transmission(self, number: int) -> Transmission | None:
        model = self._model
        word = model.words('actuator_trntype')[number]
        one, other = map(int, model['actuator_trnid'][number])
        if word in _JOINTS:
            name = model.name('jnt', one)
            if name not in self._joints:
                self._notes.left_out('actuator', number, 'free joints have no actuators here')
                return None
            return JointTransmission(name, _JOINTS[word])
        if word == 'tendon':
            return self._tendon(number, one)
        frames = [self._site(site) for site in (one, other) if site >= 0]
        if None in frames:
            message = 'acts between two robots; actuators act within one robot'
            self._notes.left_out('actuator', number, message)
            return None
        found = [frame for frame in frames if frame is not None]
        if word == 'site':
            return SiteTransmission(*found)
        return CrankTransmission(found[0], found[1], float(model['actuator_cranklength'][number]))

    def _tendon(self, number: int, tendon: int) -> Transmission | None:
        name = self._model.name('tendon', tendon)
        if name not in self._couplings:
            self._notes.left_out('actuator', number, f'its tendon {name!r} is not simulated')
            return None
        return CouplingTransmission(name)

    def _site(self, site: int) -> SiteFrame | None:
        """Return a site as a frame on the robot; a site in the world needs a fixed base."""
        model = self._model
        body, pose = int(model['site_bodyid'][site]), model.pose('site', site)
        if body in self._links:
            return SiteFrame(self._links[body], pose.position, pose.rotation)
        if self._base is None or body != 0:
            return None
        link, base = self._base
        own = base.inverse @ pose
        return SiteFrame(link, own.position, own.rotation)

    def _actuator(self, number: int, transmission: Transmission) -> ActuatorDescription:
        model = self._model
        for array, attribute in _UNUSUAL.items():
            values = model.get(array)
            if values is not None and np.any(values[number]):
                message = 'is not simulated'
                self._notes.left_out('actuator', number, message, attribute)
        return ActuatorDescription(
            model.name('actuator', number),
            transmission,
            gear=self._gear(number, transmission),
            control_range=self._range('ctrl', number),
            force_range=self._range('force', number),
            activation_range=self._range('act', number),
            gain=self._numbers('gain', number, {'fixed': 1, 'affine': 3}),
            bias=self._numbers('bias', number, {'none': 0, 'affine': 3}),
            dynamics=model.words('actuator_dyntype')[number],
            time_constant=float(model['actuator_dynprm'][number, 0]),
            uses_next=bool(model['actuator_actearly'][number]),
            line=model.line('actuator', number),
        )

    def _gear(self, number: int, transmission: Transmission) -> tuple[float, ...]:
        size = 1
        if isinstance(transmission, SiteTransmission):
            size = 6
        elif isinstance(transmission, JointTransmission):
            is_ball = self._joints[transmission.joint].type is JointType.BALL
            size = 3 if is_ball else 1
        return tuple(map(float, self._model['actuator_gear'][number, :size]))

    def _range(self, name: str, number: int) -> Range:
        if not self._model[f'actuator_{name}limited'][number]:
            return ENDLESS
        lower, upper = map(float, self._model[f'actuator_{name}range'][number])
        return lower, upper

    def _numbers(
        self, name: str, number: int, counts: Mapping[str, int]
    ) -> tuple[float, float, float]:
        """Return three coefficients; counts: how many of them a type uses."""
        used = counts[self._model.words(f'actuator_{name}type')[number]]
        own = self._model[f'actuator_{name}prm'][number, :3].astype(float)
        own = np.where(np.arange(3) < used, own, 0.0)
        return float(own[0]), float(own[1]), float(own[2])
