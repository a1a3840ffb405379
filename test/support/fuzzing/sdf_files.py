"""Models and worlds in SDF with all constructs, damaged, read and stepped."""

from __future__ import annotations

from pathlib import Path
from random import Random

from fuzzing.damage import damaged_bytes, damaged_xml
from fuzzing.stepping import step_on
from sim_bridge import World

MODEL = b"""<sdf version="1.11"><model name="m" canonical_link="base" placement_frame="f">
  <pose degrees="true">0 0 1 0 0 45</pose><self_collide>true</self_collide>
  <frame name="f" attached_to="base"><pose relative_to="base">0 0 0.1 0 0 0</pose></frame>
  <link name="base"><inertial auto="true"><density>500</density></inertial>
    <collision name="c"><geometry><box><size>0.4 0.3 0.2</size></box></geometry><surface>
      <friction><ode><mu>0.8</mu><mu2>0.5</mu2><fdir1>1 0 0</fdir1><slip1>0.01</slip1></ode>
        <torsional><coefficient>1</coefficient><patch_radius>0.02</patch_radius></torsional></friction>
      <bounce><restitution_coefficient>0.5</restitution_coefficient></bounce>
      <contact><collide_bitmask>0x03</collide_bitmask><ode><kp>1e6</kp><kd>10</kd></ode></contact>
    </surface></collision>
    <visual name="v"><transparency>0.2</transparency><material><diffuse>1 0 0 1</diffuse>
      <script><name>Gazebo/Blue</name></script></material><geometry><polyline><point>0 0</point>
      <point>1 0</point><point>1 1</point><point>0.4 0.3</point><height>0.2</height></polyline>
      </geometry></visual>
    <sensor name="eye" type="gpu_lidar"><pose relative_to="f">0 0 0.1 0 0 0</pose><lidar><scan>
      <horizontal><samples>9</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal>
      </scan><range><min>0.1</min><max>5</max></range></lidar></sensor></link>
  <link name="a"><pose relative_to="f">0.3 0 0 0 0 0</pose><inertial><mass>1</mass><inertia>
    <ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>
    <collision name="c"><geometry><ellipsoid><radii>0.1 0.1 0.2</radii></ellipsoid></geometry>
    </collision></link>
  <link name="b"><pose rotation_format="quat_xyzw">0.6 0 0 0 0 0 1</pose><inertial><mass>1</mass>
    </inertial></link>
  <link name="c"><pose>0.9 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
  <joint name="j1" type="revolute"><parent>base</parent><child>a</child><axis>
    <xyz expressed_in="__model__">0 1 0</xyz><limit><lower>-1</lower><upper>1</upper>
    <effort>5</effort></limit><dynamics><damping>0.1</damping><friction>0.1</friction></dynamics></axis></joint>
  <joint name="j2" type="screw"><parent>a</parent><child>b</child>
    <screw_thread_pitch>0.1</screw_thread_pitch><axis><xyz>1 0 0</xyz></axis></joint>
  <joint name="j3" type="universal"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis>
    <axis2><xyz>0 1 0</xyz></axis2></joint>
  <joint name="j4" type="ball"><pose relative_to="c">0 0 0 0 0 0</pose><parent>base</parent>
    <child>c</child></joint>
  <model name="n"><pose>0 0 2 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial></link>
    <link name="k"><inertial><mass>1</mass></inertial></link>
    <joint name="j" type="continuous"><parent>l</parent><child>k</child><axis><xyz>0 0 1</xyz>
      <mimic joint="j1"><multiplier>2</multiplier></mimic></axis></joint>
    <plugin filename="gz-sim-joint-controller-system" name="c"><joint_name>j</joint_name></plugin>
  </model>
</model></sdf>"""
WORLD = b"""<sdf version="1.11"><world name="w"><gravity>0 0 -9.8</gravity>
  <physics default="true"><max_step_size>0.001</max_step_size>
  <real_time_factor>1</real_time_factor></physics>
  <wind><linear_velocity>1 0 0</linear_velocity></wind>
  <spherical_coordinates><latitude_deg>47</latitude_deg><longitude_deg>19</longitude_deg>
  </spherical_coordinates><scene><ambient>0.4 0.4 0.4 1</ambient><sky/></scene>
  <light name="sun" type="spot"><pose>0 0 9 0 0 0</pose><spot><inner_angle>0.3</inner_angle>
    <outer_angle>0.6</outer_angle><falloff>1</falloff></spot><attenuation><range>20</range>
    </attenuation></light>
  <frame name="f"><pose>1 0 0 0 0 0</pose></frame>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane>
    <normal>0 0 1</normal></plane></geometry></collision></link></model>
  <model name="box"><pose relative_to="f">0 0 2 0 0 0</pose><link name="l"><inertial><mass>1</mass>
    </inertial><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
    </link></model>
  <model name="arm"><pose>4 0 2 0 0 0</pose><link name="l"><inertial><mass>1</mass>
    </inertial></link></model>
  <joint name="j" type="revolute"><parent>world</parent><child>arm</child><axis><xyz>0 1 0</xyz>
    </axis></joint>
  <population name="p"><box><size>4 4 1</size></box><model_count>3</model_count><distribution>
    <type>uniform</type></distribution><model name="m"><link name="l"><inertial><mass>1</mass>
    </inertial></link></model></population>
  <actor name="a"><link name="l"><collision name="c"><geometry><sphere>
    <radius>0.2</radius></sphere></geometry></collision></link>
    <script><trajectory id="0" type="walk"><waypoint><time>0</time>
    <pose>0 0 3 0 0 0</pose></waypoint><waypoint><time>0.01</time>
    <pose>1 0 3 0 0 1</pose></waypoint></trajectory></script></actor>
  <include><uri>model://missing</uri></include>
  <state world_name="w"><model name="box"><pose>0 0 3 0 0 0</pose></model></state>
  <plugin filename="gz-sim-buoyancy-system" name="b"><enable>box</enable></plugin>
</world></sdf>"""


def make_model(rng: Random) -> bytes:
    """Return a damaged model."""
    return _damaged(rng, MODEL)


def make_world(rng: Random) -> bytes:
    """Return a damaged world."""
    return _damaged(rng, WORLD)


def _damaged(rng: Random, text: bytes) -> bytes:
    return damaged_xml(rng, text) if rng.randrange(6) else damaged_bytes(rng, text)


def run_model(case: bytes, folder: Path) -> None:
    """Read a model as a robot, and step it."""
    path = folder / 'model.sdf'
    path.write_bytes(case)
    world = World()
    world.add_ground()
    world.load_urdf(path)
    step_on(world)


def run_world(case: bytes, folder: Path) -> None:
    """Read a world, and step it."""
    path = folder / 'world.sdf'
    path.write_bytes(case)
    world = World()
    world.load_scene(path)
    step_on(world)
