"""Actuators in MJCF: motors for joints, and MuJoCo's general actuators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingDescription,
    CouplingTransmission,
    CrankTransmission,
    JointTransmission,
    Range,
    SiteFrame,
    SiteTransmission,
    Transmission,
)
from sim_bridge.description.mjcf.write.joints import Part
from sim_bridge.description.mjcf.write.text import ends, number, numbers, placed
from sim_bridge.description.model import JointDescription, JointType, Pose


def write_motors(actuators: Element, parts: Iterable[tuple[JointDescription, str, Part]]) -> None:
    """Add a motor with the joint's name and effort limits for every joint that takes efforts."""
    for joint, name, part in parts:
        if part.kind == 'ball' or joint.type is JointType.FLOATING or joint.mimic is not None:
            continue
        least, greatest = part.limits.efforts
        # a joint without effort is passive
        if least != greatest:
            motor = SubElement(actuators, 'motor', name=name, joint=name)
            _write_range(motor, 'ctrl', (least, greatest))


def write_couplings(tendons: Element, couplings: Iterable[CouplingDescription]) -> None:
    """Add a fixed tendon for every coupling."""
    for coupling in couplings:
        fixed = SubElement(tendons, 'fixed', name=coupling.name)
        fixed.set('stiffness', number(coupling.stiffness))
        fixed.set('damping', number(coupling.damping))
        fixed.set('springlength', numbers(coupling.spring_range))
        for joint, factor in zip(coupling.joints, coupling.factors, strict=True):
            SubElement(fixed, 'joint', joint=joint, coef=number(factor))


def frames_of(transmission: Transmission) -> tuple[SiteFrame, ...]:
    """Return the frames named by a transmission."""
    if isinstance(transmission, CrankTransmission):
        return transmission.pin, transmission.slider
    if isinstance(transmission, SiteTransmission):
        return tuple(filter(None, (transmission.site, transmission.reference)))
    return ()


class ActuatorWriter:
    """Writer for general actuators; bodies: elements by link name."""

    def __init__(self, actuators: Element, bodies: Mapping[str, Element]) -> None:
        self._actuators, self._bodies = actuators, bodies

    def write(self, actuator: ActuatorDescription) -> None:
        """Add an actuator, and sites for its frames."""
        element = SubElement(self._actuators, 'general', name=actuator.name)
        element.attrib |= self._transmission(actuator)
        element.set('gear', numbers(actuator.gear))
        for kind, limits in (
            ('ctrl', actuator.control_range),
            ('force', actuator.force_range),
            ('act', actuator.activation_range),
        ):
            _write_range(element, kind, limits)
        is_affine = any(actuator.gain[1:])
        element.set('gaintype', 'affine' if is_affine else 'fixed')
        element.set('gainprm', numbers(actuator.gain))
        if any(actuator.bias):
            element.set('biastype', 'affine')
            element.set('biasprm', numbers(actuator.bias))
        if actuator.dynamics != 'none':
            element.set('dyntype', actuator.dynamics)
            element.set('dynprm', number(actuator.time_constant))
        if actuator.uses_next:
            element.set('actearly', 'true')

    def _transmission(self, actuator: ActuatorDescription) -> dict[str, str]:
        chosen, name = actuator.transmission, actuator.name
        if isinstance(chosen, JointTransmission):
            return {'jointinparent' if chosen.in_parent else 'joint': chosen.joint}
        if isinstance(chosen, CouplingTransmission):
            return {'tendon': chosen.coupling}
        if isinstance(chosen, CrankTransmission):
            return {
                'cranksite': self._site(f'{name}_pin', chosen.pin),
                'slidersite': self._site(f'{name}_slider', chosen.slider),
                'cranklength': number(chosen.rod_length),
            }
        written = {'site': self._site(f'{name}_site', chosen.site)}
        if chosen.reference is not None:
            written['refsite'] = self._site(f'{name}_reference', chosen.reference)
        return written

    def _site(self, name: str, frame: SiteFrame) -> str:
        site = SubElement(self._bodies[frame.link], 'site', name=name)
        placed(site, Pose(frame.position, frame.rotation))
        return name


def _write_range(element: Element, kind: str, limits: Range) -> None:
    if any(map(math.isfinite, limits)):
        element.set(f'{kind}limited', 'true')
        element.set(f'{kind}range', ends(*limits))
