"""MJCF models with elements of all kinds, damaged as XML."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzzing.damage import damaged_xml
from fuzzing.stepping import step_on
from sim_bridge import World

_WORLD = b"""<mujoco model="shop"><compiler angle="degree"/>
<option timestep="0.004" gravity="0 0 -5" magnetic="0 0.1 0.2"/>
<default><geom friction="0.6 0.01 0.001"/>
<default class="d"><joint damping="0.2"/></default></default>
<asset><hfield name="hill" nrow="2" ncol="3" size="1 2 0.5 0.1" elevation="0 0 0 0 1 0"/>
<mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="0.1 0.2 0.3"/>
<texture name="t" type="2d" builtin="checker" width="8" height="8"/>
<material name="m" texture="t" rgba="1 0 0 1"/></asset>
<worldbody><light name="sun" dir="0 1 -1" type="directional"/><light pos="0 0 3" cutoff="30"/>
<camera name="c" pos="0 -3 2" fovy="40" resolution="4 3"/>
<geom name="floor" type="plane" size="0 0 1"/>
<geom type="hfield" hfield="hill" pos="5 0 0"/><geom type="box" size="0.1 2 1" pos="-2 0 1"/>
<body name="goal" mocap="true" pos="0 0 2"><geom size="0.1" contype="0" conaffinity="0"/></body>
<body name="cube" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" condim="6"/></body>
<body name="arm" pos="1 0 1" gravcomp="1"><joint name="a" axis="0 1 0" ref="10" range="-90 90"/>
<joint name="s" type="slide" axis="1 0 0" stiffness="3" springref="0.1" frictionloss="0.1"/>
<geom name="ga" type="capsule" fromto="0 0 0 0.3 0 0" size="0.05" material="m"/>
<site name="tip" pos="0.3 0 0" euler="0 90 0"/>
<frame pos="0.3 0 0"><body name="hand" childclass="d"><joint name="b" type="ball"/>
<geom name="gb" type="mesh" mesh="wedge" contype="2" conaffinity="3" priority="1"/>
<geom type="ellipsoid" size="0.1 0.05 0.02" group="3"/>
<inertial pos="0 0 0.1" mass="0.4" diaginertia="0.02 0.03 0.025"/></body></frame>
<body name="c" pos="0 0.3 0"><joint name="e" axis="0 1 0" armature="0.1"/>
<geom type="cylinder" size="0.05 0.1"/></body></body></worldbody>
<contact><exclude body1="arm" body2="c"/>
<pair geom1="ga" geom2="floor" friction="1 1 0 0 0"/></contact>
<equality><joint joint1="e" joint2="a" polycoef="0 0.5 0 0 0"/>
<connect body1="hand" body2="c" anchor="0.1 0 0" active="false"/></equality>
<tendon><fixed name="f"><joint joint="a" coef="0.5"/></fixed></tendon>
<actuator><motor joint="a" gear="2"/><position joint="e" kp="10" ctrlrange="-1 1"/>
<motor tendon="f"/></actuator>
<sensor><accelerometer site="tip" noise="0.1"/><gyro site="tip"/>
<rangefinder site="tip" cutoff="3"/>
<force site="tip"/><touch site="tip"/><jointpos joint="a"/><magnetometer site="tip"/></sensor>
<keyframe><key name="k" qpos="0 0 1 1 0 0 0 0.1 0.1 1 0 0 0 0"/></keyframe></mujoco>"""
_ROBOT = b"""<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom size="0.1"/>
<body name="b" pos="0.3 0 0"><joint type="ball"/><geom type="box" size="0.1 0.1 0.1"/></body>
</body></worldbody></mujoco>"""


def make(rng: Random) -> bytes:
    """Return a damaged world or robot."""
    return damaged_xml(rng, rng.choice((_WORLD, _WORLD, _ROBOT)))


def run(case: bytes, folder: Path) -> None:
    """Load a file as a world, and simulate it."""
    path = folder / 'scene.xml'
    # damaged root elements are read as MJCF as well
    path = path.with_suffix('.mjcf') if b'<mujoco' not in case else path
    path.write_bytes(case)
    world = World()
    world.load_scene(path)
    step_on(world)
