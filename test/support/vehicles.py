"""Wheeled vehicles as URDF texts. The wheels are balls, touching the ground in points."""

from __future__ import annotations

import math

# m, kg
RADIUS = 0.1
CHASSIS = (0.4, 0.3, 0.1)
MASS = 8.0


def vehicle(parts: str, more: str = '') -> str:
    """Return a robot with a chassis, whose link base_link has its origin in the middle."""
    x, y, z = CHASSIS
    inertia = [MASS * (p * p + q * q) / 12.0 for p, q in ((y, z), (x, z), (x, y))]
    return (
        '<robot name="vehicle"><link name="base_link"/>'
        '<joint name="base_joint" type="fixed"><parent link="base_link"/><child link="chassis"/>'
        '</joint><link name="chassis">'
        f'{_inertial(MASS, inertia)}'
        f'<collision><geometry><box size="{x} {y} {z}"/></geometry></collision></link>'
        f'{parts}{more}</robot>'
    )


def wheel(
    name: str,
    x: float,
    y: float,
    parent: str = 'base_link',
    axis: str = '0 1 0',
    radius: float = RADIUS,
    effort: float = 20.0,
    velocity: float = 30.0,
) -> str:
    """Return a joint `name` and its link, a 0.5 kg ball."""
    inertia = [0.4 * 0.5 * radius * radius] * 3
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/>'
        f'<child link="{name}_link"/><origin xyz="{x} {y} 0"/><axis xyz="{axis}"/>'
        f'<limit effort="{effort}" velocity="{velocity}"/></joint>'
        f'<link name="{name}_link">{_inertial(0.5, inertia)}<collision><geometry>'
        f'<sphere radius="{radius}"/></geometry></collision></link>'
    )


def steering(name: str, x: float, y: float, limit: float = 0.7) -> str:
    """Return a steering joint, and its link `name`_link without geometry."""
    return (
        f'<joint name="{name}" type="revolute"><parent link="base_link"/>'
        f'<child link="{name}_link"/><origin xyz="{x} {y} 0"/><axis xyz="0 0 1"/>'
        f'<limit lower="{-limit}" upper="{limit}" effort="50" velocity="10"/></joint>'
        f'<link name="{name}_link">{_inertial(0.2, [1e-3] * 3)}</link>'
    )


def skid_steered(a: float = 0.15, b: float = 0.2) -> str:
    """Return four wheels at (±a, ±b), two a side."""
    return vehicle(
        ''.join(
            wheel(f'{end}_{side}', x, y)
            for end, x in (('front', a), ('rear', -a))
            for side, y in (('left', b), ('right', -b))
        )
    )


def car(wheelbase: float = 0.4, width: float = 0.3) -> str:
    """Return a car: rear wheels, 0.2 m behind the middle, and steered front wheels."""
    rear, front = -0.2, wheelbase - 0.2
    parts = ''
    for side, y in (('left', 0.5 * width), ('right', -0.5 * width)):
        parts += wheel(f'rear_{side}', rear, y)
        parts += steering(f'steer_{side}', front, y)
        parts += wheel(f'front_{side}', 0.0, 0.0, parent=f'steer_{side}_link')
    return vehicle(parts)


def roller_wheel(
    name: str,
    x: float,
    y: float,
    heading: float,
    roller: float,
    count: int = 12,
    circle: float = 0.08,
    ball: float = 0.02,
) -> str:
    """
    Return a wheel whose rim is a ring of balls, each rotating freely about one axis.

    heading: driving direction [rad]. roller: angle from there to the free rolling direction of the
    ball on the ground [rad]. circle, ball: radii of the ring and of the balls [m].
    """
    text = (
        f'<joint name="{name}" type="continuous"><parent link="base_link"/>'
        f'<child link="{name}_hub"/><origin xyz="{x} {y} 0" rpy="0 0 {heading}"/>'
        '<axis xyz="0 1 0"/><limit effort="20" velocity="30"/></joint>'
        f'<link name="{name}_hub">{_inertial(0.3, [6e-4, 1e-3, 6e-4])}</link>'
    )
    for k in range(count):
        turn = 2.0 * math.pi * k / count
        # the ball below the hub rotates about the horizontal axis across its free direction
        along, across = math.cos(roller - 0.5 * math.pi), math.sin(roller - 0.5 * math.pi)
        axis = along * math.cos(turn), across, -along * math.sin(turn)
        place = (-circle * math.sin(turn), 0.0, -circle * math.cos(turn))
        text += (
            f'<joint name="{name}_{k}" type="continuous"><parent link="{name}_hub"/>'
            f'<child link="{name}_{k}_link"/><origin xyz="{place[0]} {place[1]} {place[2]}"/>'
            f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/></joint>'
            f'<link name="{name}_{k}_link">{_inertial(0.02, [0.4 * 0.02 * ball * ball] * 3)}'
            f'<collision><geometry><sphere radius="{ball}"/></geometry></collision></link>'
        )
    return text


def mecanum_friction(name: str, roller: float, frame: str = 'base_link') -> str:
    """
    Return Gazebo's tags that make the ball of a `wheel` slide freely in one direction.

    roller: the direction, from the link's x axis [rad]. frame: the link.
    """
    return (
        f'<gazebo reference="{name}_link"><mu1>1</mu1><mu2>0</mu2>'
        f'<fdir1 gz:expressed_in="{frame}">{math.sin(roller)} {-math.cos(roller)} 0</fdir1>'
        '</gazebo>'
    )


def rolling_radius(count: int = 12, circle: float = 0.08, ball: float = 0.02) -> float:
    """
    Return a ball wheel's travel per radian [m].

    While the ball at an angle a is on the ground, the hub is circle cos(a) + ball above it: the
    travel is its mean over one ball's range of angles.
    """
    half = math.pi / count
    return circle * math.sin(half) / half + ball


def plugin(filename: str, tags: str) -> str:
    """Return a Gazebo plugin."""
    return f'<gazebo><plugin filename="{filename}" name="p">{tags}</plugin></gazebo>'


def _inertial(mass: float, moments: list[float]) -> str:
    ixx, iyy, izz = moments
    return (
        f'<inertial><mass value="{mass}"/><inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" '
        f'iyz="0" izz="{izz}"/></inertial>'
    )
