"""Small robots for tests, written as URDF, so tests cover everything from text to motion."""

from __future__ import annotations


def link(name, mass=1.0, com=(0, 0, 0), inertia=(0.01, 0.01, 0.01)):
    """Return a link with a diagonal inertia about its centre of mass; no inertial for mass 0."""
    if mass == 0.0:
        return f'<link name="{name}"/>'
    ixx, iyy, izz = inertia
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/>'
        f'<origin xyz="{com[0]} {com[1]} {com[2]}"/>'
        f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial></link>'
    )


def joint(
    name, parent, child, kind='continuous', axis=(0, 0, 1), xyz=(0, 0, 0), rpy=(0, 0, 0), inside=''
):
    """Return a joint; `inside`: further elements."""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>'
        f'<axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>{inside}</joint>'
    )


def robot(*elements, name='robot'):
    """Return a whole description."""
    return f'<robot name="{name}">{"".join(elements)}</robot>'


def rotor(inertia=0.5, kind='continuous', inside=''):
    """
    Return one wheel on a vertical axle, or one cart on a rail along x, fixed to the world.

    Gravity does no work.
    """
    axis = (1, 0, 0) if kind == 'prismatic' else (0, 0, 1)
    return robot(
        link('world', 0.0),
        link('body', 2.0, inertia=(inertia, inertia, inertia)),
        joint('joint', 'world', 'body', kind, axis, inside=inside),
    )


def pendulum(mass=1.0, length=1.0, inside='', gazebo=''):
    """Return a point-like bob on a massless rod, rotating about y, hanging down at position 0."""
    return robot(
        link('world', 0.0),
        link('bob', mass, (0, 0, -length), (1e-9, 1e-9, 1e-9)),
        joint('joint', 'world', 'bob', 'continuous', (0, 1, 0), inside=inside),
        gazebo,
    )


def double_pendulum(friction=0.0):
    """Return two rods swinging about y, with joints 'a' and 'b'."""
    inside = f'<dynamics friction="{friction}"/>'
    return robot(
        link('world', 0.0),
        link('upper', 1.2, (0, 0, -0.2), (0.02, 0.02, 0.01)),
        link('lower', 0.8, (0, 0, -0.15), (0.01, 0.01, 0.01)),
        joint('a', 'world', 'upper', axis=(0, 1, 0), inside=inside),
        joint('b', 'upper', 'lower', axis=(0, 1, 0), xyz=(0, 0, -0.4), inside=inside),
    )


def ft(reference, inside='', extra=''):
    """Declare a force-torque sensor on a joint, in Gazebo's format."""
    return (
        f'<gazebo reference="{reference}"><sensor name="ft" type="force_torque">{extra}'
        f'<force_torque>{inside}</force_torque></sensor></gazebo>'
    )
