"""An arm with every kind of actuator, and its twin in MuJoCo."""

from __future__ import annotations

from dataclasses import replace

from joint_robots import describe, joint, link, Pose, X, Y, Z
import mujoco
import numpy as np

import sim_bridge as sb
from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingDescription,
    CouplingTransmission,
    CrankTransmission,
    JointTransmission,
    SiteFrame,
    SiteTransmission,
)
from sim_bridge.foundation.rotation import matrix_from_quaternion

TIP = (0.1, -0.05, 0.2), (0.8, 0.2, -0.4, 0.4)  # position, MuJoCo's quaternion w x y z
RAIL = (0.0, 0.1, 0.3), (0.6, -0.6, 0.2, 0.48)
CRANK_PIN = (0.02, 0.03, 0.1), (1.0, 0.0, 0.0, 0.0)
GEAR6 = (1.0, -2.0, 0.5, 0.3, 0.7, -0.4)

MJCF = """
<mujoco><compiler angle="radian"/><option timestep="{h}" integrator="{integrator}"/>
<worldbody>
 <site name="rail" pos="{rail}" quat="{rail_turn}"/>
 <body name="upper" pos="0 0 1">
  <joint name="shoulder" axis="0 1 0" damping="0.2"/>
  <inertial pos="0.1 0 -0.2" mass="2" diaginertia="0.05 0.04 0.03"/>
  <body name="boom" pos="0 0 -0.5">
   <joint name="slide" type="slide" axis="1 0 0" damping="0.3"/>
   <inertial pos="0 0.1 0" mass="1" diaginertia="0.02 0.03 0.01"/>
   <site name="pin" pos="{pin}"/>
   <body name="fore" pos="0.3 0 0">
    <joint name="ball" type="ball"/>
    <inertial pos="0 0 -0.3" mass="1" diaginertia="0.03 0.02 0.01"/>
    <body name="hand" pos="0 0 -0.5">
     <joint name="wrist" axis="0 0 1"/>
     <inertial pos="0.02 0.01 0" mass="0.5" diaginertia="0.01 0.02 0.03"/>
     <site name="tip" pos="{tip}" quat="{tip_turn}"/>
    </body>
   </body>
  </body>
 </body>
</worldbody>
<tendon>{tendons}</tendon><actuator>{actuators}</actuator></mujoco>"""


def site(name):
    """Return a site by its name in the MJCF text."""
    link_name, (position, (w, x, y, z)) = {
        'tip': ('hand', TIP),
        'rail': ('world', RAIL),
        'pin': ('boom', CRANK_PIN),
    }[name]
    quaternion = np.array([x, y, z, w]) / np.linalg.norm([w, x, y, z])
    return SiteFrame(link_name, np.array(position), matrix_from_quaternion(quaternion))


def text(values):
    """Return numbers for an XML attribute."""
    return ' '.join(repr(float(each)) for each in values)


class Drive:
    """
    One actuator in both forms.

    where: transmission attributes in MJCF. transmission: the same here. law: further
    attributes here, by the names of ActuatorDescription.
    """

    def __init__(self, name, where, transmission, **law):
        self.where = where
        self.description = ActuatorDescription(name, transmission, **law)

    @property
    def xml(self):
        """The element in MJCF."""
        own = self.description
        parts = [f'<general name="{own.name}" {self.where} gear="{text(own.gear)}"']
        parts.append(f'gaintype="affine" gainprm="{text(own.gain)}"')
        parts.append(f'biastype="affine" biasprm="{text(own.bias)}"')
        for name, limits in (
            ('ctrl', own.control_range),
            ('force', own.force_range),
            ('act', own.activation_range),
        ):
            if np.isfinite(limits).all():
                parts.append(f'{name}limited="true" {name}range="{text(limits)}"')
        if own.dynamics != 'none':
            parts.append(f'dyntype="{own.dynamics}" dynprm="{own.time_constant}"')
            parts.append(f'actearly="{"true" if own.uses_next else "false"}"')
        return ' '.join(parts) + '/>'


def of_joint(name, joint_name, *, in_parent=False, **law):
    """Return an actuator on a joint."""
    where = f'{"jointinparent" if in_parent else "joint"}="{joint_name}"'
    return Drive(name, where, JointTransmission(joint_name, in_parent), **law)


def at_site(name, reference='', **law):
    """Return an actuator at the tip, optionally relative to another site."""
    where = 'site="tip"' + (f' refsite="{reference}"' if reference else '')
    other = site(reference) if reference else None
    return Drive(name, where, SiteTransmission(site('tip'), other), **law)


def on_crank(name, rod=2.0, **law):
    """Return an actuator on a slider that pushes a pin on the boom."""
    where = f'cranksite="pin" slidersite="rail" cranklength="{rod}"'
    return Drive(name, where, CrankTransmission(site('pin'), site('rail'), rod), **law)


def on_coupling(name, coupling='pair', **law):
    """Return an actuator on a coupling."""
    return Drive(name, f'tendon="{coupling}"', CouplingTransmission(coupling), **law)


def tendon(coupling):
    """Return a coupling as MuJoCo's fixed tendon."""
    joints = ''.join(
        f'<joint joint="{name}" coef="{factor}"/>'
        for name, factor in zip(coupling.joints, coupling.factors, strict=True)
    )
    return (
        f'<fixed name="{coupling.name}" stiffness="{coupling.stiffness}" '
        f'damping="{coupling.damping}" springlength="{text(coupling.spring_range)}">'
        f'{joints}</fixed>'
    )


PAIR = CouplingDescription(
    'pair', ('shoulder', 'wrist', 'slide'), (0.5, -1.5, 2.0), 3.0, 0.4, (-0.1, 0.2)
)
AFFINE = {'gain': (3.0, -0.5, 0.2), 'bias': (0.7, -2.0, -0.3)}
ALL = (
    of_joint('motor', 'shoulder', gear=(2.0,), control_range=(-1.0, 1.0)),
    of_joint('servo', 'slide', gear=(-1.5,), force_range=(-4.0, 5.0), **AFFINE),
    of_joint('turn', 'ball', gear=(0.5, -1.0, 2.0), **AFFINE),
    of_joint('turn_in_parent', 'ball', in_parent=True, gear=(0.5, -1.0, 2.0), **AFFINE),
    of_joint('wound', 'wrist', dynamics='integrator', activation_range=(-0.4, 0.5), **AFFINE),
    of_joint('filtered', 'wrist', dynamics='filter', time_constant=0.05, **AFFINE),
    of_joint('exact', 'wrist', dynamics='filterexact', time_constant=0.03, **AFFINE),
    of_joint('early', 'slide', dynamics='filter', time_constant=0.05, uses_next=True, **AFFINE),
    at_site('push', gear=GEAR6),
    at_site('reach', 'rail', gear=GEAR6, force_range=(-20.0, 20.0), **AFFINE),
    on_crank('crank', gear=(1.5,), **AFFINE),
    on_coupling('pull', gear=(2.0,), force_range=(-6.0, 4.0), **AFFINE),
)


def links():
    """Return the arm's links and joints."""
    return [
        link('world', 0.0),
        link('upper', 2.0, (0.1, 0, -0.2), (0.05, 0.04, 0.03)),
        link('boom', 1.0, (0, 0.1, 0), (0.02, 0.03, 0.01)),
        link('fore', 1.0, (0, 0, -0.3), (0.03, 0.02, 0.01)),
        link('hand', 0.5, (0.02, 0.01, 0), (0.01, 0.02, 0.03)),
    ], [
        joint('shoulder', 'continuous', 'world', 'upper', at(0, 0, 1), Y, dynamics=damped(0.2)),
        joint('slide', 'prismatic', 'upper', 'boom', at(0, 0, -0.5), X, dynamics=damped(0.3)),
        joint('ball', 'ball', 'boom', 'fore', at(0.3, 0, 0)),
        joint('wrist', 'continuous', 'fore', 'hand', at(0, 0, -0.5), Z),
    ]


def at(*position):
    """Return a pose without rotation."""
    return Pose(np.array(position, float))


def damped(damping):
    """Return joint dynamics with a damper."""
    from sim_bridge.description.model import JointDynamics

    return JointDynamics(damping=damping)


class Arm:
    """
    The arm in a world of its own, and in MuJoCo.

    drives: the actuators. h: time step of both [s]. integrator: MuJoCo's.
    """

    def __init__(self, drives=ALL, h=0.001, integrator='Euler', twin_h=None, couplings=(PAIR,)):
        description = replace(
            describe(*links()),
            actuators=tuple(drive.description for drive in drives),
            couplings=couplings,
        )
        self.world = sb.World(time_step=h)
        self.robot = self.world.add_robot(description)
        self.model = mujoco.MjModel.from_xml_string(
            MJCF.format(
                h=twin_h or h,
                integrator=integrator,
                rail=text(RAIL[0]),
                rail_turn=text(RAIL[1]),
                pin=text(CRANK_PIN[0]),
                tip=text(TIP[0]),
                tip_turn=text(TIP[1]),
                tendons=''.join(map(tendon, couplings)),
                actuators=''.join(drive.xml for drive in drives),
            )
        )
        self.data = mujoco.MjData(self.model)

    def place(self, rng, speed=1.0):
        """Give both the same random state, controls and activations."""
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        q, dq, spin = rng.uniform(-1, 1, 3), speed * rng.normal(size=3), speed * rng.normal(size=3)
        q[1] *= 0.3
        names, ball = self.robot.joint_names, self.robot.joint('ball')
        order = [names.index(name) for name in ('shoulder', 'slide', 'wrist')]
        self.robot.q[order], self.robot.dq[order] = q, dq
        rotation = matrix_from_quaternion(turn)
        ball.q, ball.dq = turn, rotation @ spin
        self.data.qpos[:] = (q[0], q[1], turn[3], *turn[:3], q[2])
        self.data.qvel[:] = (dq[0], dq[1], *spin, dq[2])
        self.robot.controls = self.data.ctrl[:] = rng.normal(size=self.model.nu)
        for name, actuator in self.robot.actuators.items():
            number = self.model.actuator(name).actadr[0]
            if number >= 0:
                actuator.activation = self.data.act[number] = rng.uniform(-0.3, 0.3)

    def activations(self):
        """Return the activations here and in MuJoCo's order."""
        names = [name for name in self.robot.actuators if self.model.actuator(name).actadr[0] >= 0]
        return np.array([self.robot.actuators[name].activation for name in names])

    def q(self):
        """Return the positions of shoulder, slide, ball (w x y z) and wrist."""
        names = self.robot.joint_names
        x, y, z, w = self.robot.joint('ball').q
        q = dict(zip(names, self.robot.q, strict=True))
        return np.array([q['shoulder'], q['slide'], w, x, y, z, q['wrist']])
