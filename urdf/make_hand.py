"""
Write hand.urdf beside this file: a hand on a lift, 14 joints, force-torque sensors in its tips.

    python urdf/make_hand.py
"""

from __future__ import annotations

from pathlib import Path

HEADER = """\
<?xml version="1.0"?>
<!--
  A hand on a lift, palm down: 14 joints, {mass:.4g} kg, force-torque sensors in its tips.
  Made by make_hand.py.

  The lift moves the palm along z; at 0 its lower face is {height} m above 0. Three fingers
  at its -x edge (index, middle, ring, from +y to -y) and a thumb at its +x edge hang straight down
  at 0. Their joints bend them inwards: mcp (knuckle), pip, dip (towards the tip); thumb_cmc turns
  the thumb about z first. Tips are spheres of {tip:.3g} mm.
  The inertia of each link is the closed form of its shape, at the link's mass.
-->
<robot name="hand">

  <material name="grey">
    <color rgba="0.35 0.37 0.4 1"/>
  </material>
  <material name="rubber">
    <color rgba="0.1 0.1 0.1 1"/>
  </material>

  <link name="world"/>
"""
JOINT = """
  <joint name="{name}" type="{kind}">
    <parent link="{parent}"/>
    <child link="{child}"/>
    <origin xyz="{origin}"/>{rest}
  </joint>
"""
AXIS = """
    <axis xyz="{axis}"/>
    <limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>
    <dynamics damping="{damping}"/>"""
LINK = """
  <link name="{name}">
    <inertial>
      <origin xyz="{origin}"/>
      <mass value="{mass}"/>
      <inertia ixx="{inertia[0]:.6g}" ixy="0" ixz="0"
        iyy="{inertia[1]:.6g}" iyz="0" izz="{inertia[2]:.6g}"/>
    </inertial>
    <visual>
      <origin xyz="{origin}"/>
      <geometry>
        {shape}
      </geometry>
      <material name="{material}"/>
    </visual>
    <collision>
      <origin xyz="{origin}"/>
      <geometry>
        {shape}
      </geometry>
    </collision>
  </link>
"""
SENSOR = """
  <gazebo reference="{digit}_tip_joint">
    <preserveFixedJoint>true</preserveFixedJoint>
    <sensor name="{digit}_tip" type="force_torque">
      <always_on>true</always_on>
      <update_rate>1000</update_rate>
      <force_torque>
        <frame>sensor</frame>
        <measure_direction>child_to_parent</measure_direction>
      </force_torque>
    </sensor>
  </gazebo>
"""

HEIGHT = 0.15  # palm height above the world at lift 0 [m]
PALM, PALM_MASS = (0.12, 0.08, 0.02), 0.3  # [m], [kg]
KNUCKLES = {
    'index': (-0.05, 0.024),
    'middle': (-0.05, 0.0),
    'ring': (-0.05, -0.024),
    'thumb': (0.05, 0.0),
}
# (name, length to the next joint [m], mass [kg], lower and upper stop of the joint [rad])
PHALANGES = (
    ('mcp', 0.045, 0.03, -1.2, 1.2),
    ('pip', 0.035, 0.02, -0.2, 1.9),
    ('dip', 0.025, 0.012, -0.2, 1.6),
)
RADIUS, TIP_RADIUS, TIP_MASS = 0.007, 0.009, 0.004


def box(size: tuple[float, ...], mass: float) -> tuple[str, tuple[float, ...]]:
    """Return a box's element and moments of inertia [kg m^2]."""
    x, y, z = (edge * edge for edge in size)
    moments = tuple(mass / 12.0 * total for total in (y + z, x + z, x + y))
    return f'<box size="{" ".join(map(str, size))}"/>', moments


def cylinder(radius: float, length: float, mass: float) -> tuple[str, tuple[float, ...]]:
    """Return the element and moments of inertia [kg m^2] for a cylinder along z."""
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return f'<cylinder radius="{radius}" length="{length:.6g}"/>', (
        across,
        across,
        mass * radius**2 / 2.0,
    )


def sphere(radius: float, mass: float) -> tuple[str, tuple[float, ...]]:
    """Return a sphere's element and moments of inertia [kg m^2]."""
    return f'<sphere radius="{radius}"/>', (0.4 * mass * radius**2,) * 3


def link(
    name: str, z: float, mass: float, solid: tuple[str, tuple[float, ...]], material: str = 'grey'
) -> str:
    """Return a link with one solid at height z in its frame [m]."""
    shape, inertia = solid
    return LINK.format(
        name=name,
        origin=f'0 0 {z:.6g}',
        mass=mass,
        shape=shape,
        inertia=inertia,
        material=material,
    )


def joint(
    name: str,
    parent: str,
    child: str,
    origin: tuple[float, float, float],
    axis: str = '',
    limits: tuple[float, float] = (0.0, 0.0),
    kind: str = 'revolute',
    effort: float = 2.0,
    velocity: float = 8.0,
    damping: float = 0.002,
) -> str:
    """Return a joint, fixed without an axis. origin: in the parent link [m]."""
    rest = (
        AXIS.format(
            axis=axis,
            lower=limits[0],
            upper=limits[1],
            effort=effort,
            velocity=velocity,
            damping=damping,
        )
        if axis
        else ''
    )
    return JOINT.format(
        name=name,
        kind=kind if axis else 'fixed',
        parent=parent,
        child=child,
        origin=' '.join(f'{value:.6g}' for value in origin),
        rest=rest,
    )


def digit(name: str) -> str:
    """Return the joints, links and sensor for a finger or the thumb."""
    x, y = KNUCKLES[name]
    text, parent, origin = '', 'palm', (x, y, 0.0)
    if name == 'thumb':
        mass = 0.015
        text += joint('thumb_cmc', parent, 'thumb_base', origin, '0 0 1', (-0.8, 0.8))
        text += link('thumb_base', 0.0, mass, sphere(0.008, mass))
        # below the palm, so that the thumb opens without touching it
        parent, origin = 'thumb_base', (0.0, 0.0, -0.012)
    inwards = '0 1 0' if name == 'thumb' else '0 -1 0'
    for part, length, mass, lower, upper in PHALANGES:
        child = f'{name}_{part}_link'
        solid = cylinder(RADIUS, length - 2.0 * RADIUS, mass)
        text += joint(f'{name}_{part}', parent, child, origin, inwards, (lower, upper))
        text += link(child, -length / 2.0, mass, solid)
        parent, origin = child, (0.0, 0.0, -length)
    text += joint(f'{name}_tip_joint', parent, f'{name}_tip', origin)
    text += link(f'{name}_tip', 0.0, TIP_MASS, sphere(TIP_RADIUS, TIP_MASS), 'rubber')
    return text + SENSOR.format(digit=name)


def hand() -> str:
    """Return the URDF."""
    mass = PALM_MASS + 0.015 + len(KNUCKLES) * (TIP_MASS + sum(part[2] for part in PHALANGES))
    text = HEADER.format(mass=mass, height=HEIGHT, tip=1e3 * TIP_RADIUS)
    text += joint(
        'lift',
        'world',
        'palm',
        (0.0, 0.0, HEIGHT),
        '0 0 1',
        (-0.1, 0.3),
        'prismatic',
        60.0,
        0.5,
        0.0,
    )
    text += link('palm', PALM[2] / 2.0, PALM_MASS, box(PALM, PALM_MASS))
    return text + ''.join(map(digit, KNUCKLES)) + '\n</robot>\n'


if __name__ == '__main__':
    Path(__file__).with_name('hand.urdf').write_text(hand())
