"""A small scene with every feature of a world at once, and its changes during a run."""

from __future__ import annotations

from dataclasses import replace

import yaml

import sim_bridge as sb
from sim_bridge.world.changes import apply_changes

SCENE = """
world:
  origin: {latitude: 47.479, longitude: 19.058, elevation: 112, heading: 20}
  sleep: {linear: 0.02, angular: 0.02, steps: 20}
  materials:
    wood: {library: wood, friction: 0.6}
    glue: {adhesion: 3, adhesive_overlap: 1.0e-4}
    foam: {youngs_modulus: 2.0e3, damping: 0.01, rolling_friction: 0.002, reduce: true}
    ice: {friction: 0.05, slip: 0.01}
  contact_materials:
    - {between: [wood, default], friction_model: box, friction: 0.4, solver: iterative}
    - {between: [ice, default], friction_model: pyramid, friction: 0.1, friction2: 0.3,
       direction: {axis: [1, 1, 0]}, solver: split}
    - {between: [glue, default], friction_model: constant_normal_force, normal_force: 2,
       depth_factor: 10, solver: direct_and_iterative}
    - {between: [foam, default], contact_area: true, stiffness: 1.0e5, damping: 500}
  force_fields:
    wind: {type: drag, linear: 0.3, quadratic: 0.1, wind: [2, 0, 0], gust: [1, 1, 0], period: 0.1}
    well: {type: point, center: [0, 0, 5], strength: 3, exponent: -1, links: [ice, foam]}
  objects:
    floor:
      motion: static
      shapes: [{height_field: {size: [8, 8], heights:
        [[0, 0.02, 0, 0.03], [0.01, 0, 0.02, 0], [0, 0.03, 0, 0.01], [0.02, 0, 0.01, 0]]},
        name: field}]
    belt: {motion: static, box: [1, 1, 0.1],
           position: [2.5, 2, 0.05], surface_velocity: [0.5, 0, 0]}
    wood: {box: [0.3, 0.3, 0.3], position: [-2, 0, 0.2], material: wood,
           linear_velocity: [1, 0, 0]}
    ice: {box: [0.3, 0.2, 0.2], position: [-2, 1, 0.2], material: ice, linear_velocity: [0, 1, 0],
          density: 900, linear_velocity_damping: [0.1, 0.2, 0.3], mass_coefficients: 0.2}
    glue: {sphere: 0.1, position: [-2, 2, 0.13], material: glue, linear_velocity: [0.2, 0, 0]}
    foam: {box: [0.2, 0.2, 0.2], position: [-1, -1, 0.15], material: foam, sleep: false}
    ring: {hollow_cylinder: {radius: 0.3, length: 0.2, inner_radius: 0.2}, position: [1, 0, 0.2],
           sleep: {linear: 0.5, angular: 0.5, steps: 5, average_samples: 3}}
    peg: {cylinder: {radius: 0.15, length: 0.3}, position: [1, 0, 0.5], density: 500}
    funnel: {hollow_cone: {radius: 0.3, length: 0.3, inner_radius: 0.2, top_radius: 0.2,
             top_inner_radius: 0.1}, position: [1, -2, 0.3], motion: static}
    drop: {sphere: 0.05, position: [1.05, -2, 0.8], mass: 0.3}
    pack: {box: [0.2, 0.2, 0.2], position: [2.5, 2, 0.25]}
    idle: {sphere: 0.1, position: [3, -3, 2], disabled: true}
    float: {sphere: 0.1, position: [3, 3, 1], gravity: false, angular_velocity: [1, 2, 3]}
    post: {motion: static, box: [0.1, 0.1, 1], position: [0, 2, 0.6]}
    door: {box: [0.8, 0.05, 0.8], position: [0.5, 2, 0.7], density: 300}
    bob: {sphere: 0.08, position: [0.9, 2, 0.2], mass: 2}
    cart:
      box: [0.6, 0.4, 0.1]
      position: [0, -2.5, 0.4]
      mass: 10
      sleep: false
      sensors:
        imu: {type: imu, noise: {linear_acceleration: {stddev: 0.1}}}
        scan: {type: lidar, horizontal: {samples: 16, min_angle: -3, max_angle: 3},
               range: {min: 0.4, max: 9}, noise: {range: {stddev: 0.01}}, update_rate: 100}
        bumper: {type: contact}
        compass: {type: magnetometer}
        eye: {type: camera, size: [8, 6], position: [0, 0, 0.6]}
        gps: {type: navsat, noise: {position: {stddev: 0.5}}}
    wheel: {cylinder: {radius: 0.2, length: 0.1}, position: [0, -2.8, 0.25], rpy: [1.5708, 0, 0]}
  robots:
    arm: {urdf: pendulum, position: [-3, -3, 2], base: fixed, joint_positions: {pivot: 0.5},
          joints: {pivot: {damping: 0.05, friction: 0.02}}}
  joints:
    hinge: {type: hinge, between: [post, door], anchor: [0.06, 2, 0.7], lower: -1, upper: 1,
            bounce: 0.3, damping: 0.02, tree: false, bearing_friction: 0.01}
    latch: {type: fixed, between: [post, door], tree: false, break_force: 40, groups: [locks]}
    closer: {type: motor, beside: hinge, control: servo, kp: 3, kd: 0.2, target_position: 0.5}
    rope: {type: distance, between: [door, bob], anchor: [0.9, 2, 0.6], anchor2: [0.9, 2, 0.25],
           compliance: {stiffness: 2.0e4, damping: 20}, break_force: 500}
    axle: {type: hinge2, between: [cart, wheel], anchor: [0, -2.8, 0.25], axis: [0, 0, 1],
           axis2: [0, 1, 0], suspension: {stiffness: 3.0e3, damping: 90},
           axes: [{lower: -0.3, upper: 0.3},
                  {control: velocity, target_velocity: 5, max_effort: 2}]}
    pull: {type: ball, between: [cart, world], anchor: [0.3, -2.5, 0.4], erp: 0.3, cfm: 1.0e-4}
    spin: {type: angular_motor, between: [world, cart],
           axes: [{direction: [0, 0, 1], fixed_on: world, damping: 0.3}]}
"""

CHANGES = """
floor: {shapes: {field: {heights: [[0.1, 0.15], [0.12, 0.1]], row: 1, column: 0}}}
foam: {mass: 2, linear_velocity_damping: 0.4, disabled: true}
peg: {density: 800, shapes: {cap: {sphere: 0.17, position: [0, 0, 0.2]}}}
idle: {disabled: false, gravity: false}
arm: {joints: {pivot: {damping: 0.5}}, links: {rod: {mass: 2.5}}}
pack: {shapes: {pack_collision_0: {enabled: false}}, sleep: false}
"""

FIELDS = '{storm: {type: drag, linear: 2, wind: [0, 4, 0], links: [drop, arm/rod]}}'


def friction(pair: sb.TouchingPair) -> sb.PairFriction:
    """Return friction that falls with speed."""
    return sb.PairFriction(0.8 / (1.0 + float(abs(pair.velocities).max())))


def lift(position, velocity, mass, time):
    """Return a force that depends on all arguments."""
    return 0.0, 0.0, mass * (1.0 + time) - 0.05 * velocity[2] - 0.01 * position[2]


def hears(event):
    """Remove the first contact of an impact with several."""
    return [True] + [event.kind != 'impact'] * (len(event.positions) - 1)


def before(world):
    """Push a body before each step."""
    world.robots['float'].root_link.add_force((0.0, 0.1 * world.time, 0.0))


def world_of_everything() -> sb.World:
    """Return the scene, with additional Python functions."""
    world = sb.World()
    world.load_scene({'world': yaml.safe_load(SCENE)['world']})
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction_model=friction))
    world.add_force_field(lift, 'lift', [world.robots['pack'], world.robots['drop']])
    world.on_contact(hears, world.robots['peg'])
    world.before_step(before)
    return world


def change(world: sb.World) -> None:
    """Apply the changes."""
    apply_changes(world.robots, world.simulation, CHANGES, 'changes')


def run_on(world: sb.World) -> tuple[str, list]:
    """Run with setting changes that keep the arrays; return the hash and readings."""
    world.step(25)
    world.solver, world.gravity = 'split', (0.4, 0.0, -9.0)
    world.robots['floor'].geometries[0].set_heights([[0.05, 0.06]], 2, 1)
    world.robots['wood'].disable()
    world.joint('closer').kp = 6.0
    world.step(25)
    world.solver, world.iterations, world.sleep = 'iterative', 30, False
    world.gravity = sb.PointGravity((0.0, 0.0, -50.0), 9.0 * 50.0**2, -2.0)
    world.remove_force_field('wind')
    world.add_force_field(sb.Drag(linear=0.5), 'calm', world.robots['bob'])
    world.robots['wood'].enable()
    world.robots['cart'].root_link.m = 14.0
    world.joint('rope').break_force = 5.0
    world.materials.add(replace(world.materials['wood'], friction=0.2))
    world.step(25)
    cart = world.robots['cart']
    return world.state_hash(), [
        *cart.device('imu').dv,
        *cart.device('scan').ranges,
        *cart.device('compass').B,
        *cart.device('bumper').f,
        *world.robots['bob'].root_link.last_force,
        *world.broken_joints,
    ]
