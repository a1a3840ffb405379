"""Rotors, thrusters, wings, hulls and buoyancy, against closed forms."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb

G = 9.81
NO_GRAVITY = (0.0, 0.0, 0.0)
TILTED = (0.1, 0.2, 0.3, math.sqrt(0.86))


def vehicle(axis=(0, 0, 1)):
    """Return a 1 kg body with a 10 g propeller."""
    return robot(
        link('base', 1.0, (0.0, 0.0, 0.0), (0.02, 0.02, 0.03)),
        link('propeller', 0.01, (0.0, 0.0, 0.0), (1e-6, 1e-6, 2e-6)),
        joint('spin', 'base', 'propeller', 'continuous', axis),
    )


def flying(field, gravity=(0.0, 0.0, -G), **options):
    """Return a world with the vehicle under a propeller's force, and the vehicle."""
    world = sb.World(gravity=gravity, **options)
    body = world.load_urdf(vehicle(), base='free')
    body.joint('spin').control = 'velocity'
    world.add_force_field(field, 'propeller', body.link('propeller'))
    return world, body


def floating(shape, density=500.0, layers=((0.0, 0.0),), time_step=1e-3, **options):
    """Return a world with a body at this density in water below z = 0, and its link."""
    world = sb.World(time_step=time_step)
    mass = density * shape.mass_properties(1.0).mass
    body = world.add_body(shape, mass=mass, **options)
    world.add_force_field(sb.Buoyancy(1000.0, layers), 'water')
    return world, body.root_link


def test_rotor_spins_up_with_first_order_and_hovers_at_its_weight():
    """Follow 1 - exp(-t / τ) exactly, and neither rise nor sink once the thrust is the weight."""
    k, tau = 8.5e-6, 0.0125
    world, body = flying(
        sb.Rotor('spin', thrust_constant=k, slowdown=10.0, time_constant_up=tau, moment_constant=0)
    )
    speed = math.sqrt(1.01 * G / k)
    body.joint('spin').target_velocity = speed / 10.0
    for _ in range(20):
        world.step()
        expected = speed * (1.0 - math.exp(-world.time / tau))
        assert 10.0 * body.joint('spin').dq == pytest.approx(expected, rel=1e-12)
    world.step(1000)
    before = body.root_link.v.copy()
    world.step(1000)
    assert np.abs(body.root_link.v - before).max() < 1e-9
    body.joint('spin').target_velocity = 0.0
    before = 10.0 * body.joint('spin').dq
    world.step(10)
    assert 10.0 * body.joint('spin').dq == pytest.approx(before * math.exp(-0.4), rel=1e-9)


@pytest.mark.parametrize('clockwise', [False, True])
def test_rotor_pushes_upwards_in_its_turning_direction_and_turns_its_parent_against_it(clockwise):
    """Accelerate by T / m, and turn by the moment constant times T over the inertia."""
    world, body = flying(
        sb.Rotor('spin', is_clockwise=clockwise, thrust_constant=1e-5, moment_constant=0.02),
        NO_GRAVITY,
    )
    turning = -1.0 if clockwise else 1.0
    body.joint('spin').dq = body.joint('spin').target_velocity = turning * 500.0
    world.step(2000)
    before, yaw_rate = body.root_link.v.copy(), body.root_link.w[2]
    world.step(100)
    thrust = 1e-5 * 500.0**2
    assert body.root_link.v[2] - before[2] == pytest.approx(0.1 * thrust / 1.01, rel=1e-9)
    gained = body.root_link.w[2] - yaw_rate
    assert gained == pytest.approx(-turning * 0.1 * 0.02 * thrust / (0.03 + 2e-6), rel=1e-9)


def test_rotor_drag_slows_flight_across_the_axis_exponentially():
    """Match v = v₀ exp(-λ |ω| t / m), and drift along with the wind in the end."""
    drag, wind = 1e-3, (0.5, 0.0, 0.0)
    world, body = flying(
        sb.Rotor(
            'spin',
            thrust_constant=0.0,
            moment_constant=0.0,
            drag_constant=drag,
            rolling_constant=0.0,
            time_constant_up=0.0,
            wind=wind,
        ),
        NO_GRAVITY,
    )
    body.set_base_velocity((2.0, 0.0, 1.0))
    body.joint('spin').dq = body.joint('spin').target_velocity = 400.0
    world.step(1000)
    expected = 0.5 + 1.5 * math.exp(-drag * 400.0 / 1.01)
    assert body.root_link.v == pytest.approx([expected, 0.0, 1.0], rel=1e-6, abs=1e-12)


def test_thruster_drives_a_hull_at_its_terminal_velocity():
    """End at √(T / D) with T = k ρ d⁴ n², and at the advance ratio without thrust."""
    thruster = sb.Thruster('spin', thrust_coefficient=0.01, density=1000.0, diameter=0.2)
    n = 50.0
    thrust = 0.01 * 1000.0 * 0.2**4 * n**2
    assert thruster.speed_for(thrust) == pytest.approx(n)
    assert thruster.speed_for(-thrust) == pytest.approx(-n)
    world, body = flying(thruster, NO_GRAVITY)
    world.add_force_field(
        sb.Hydrodynamics(quadratic_damping=[8.0] * 3 + [0.0] * 3), links=body.root_link
    )
    body.joint('spin').target_velocity = n
    world.step(8000)
    assert body.root_link.v[2] == pytest.approx(math.sqrt(thrust / 8.0), rel=1e-6)
    # k + a (1 - w) u / (n d) = 0
    losing = sb.Thruster('spin', 0.01, 1000.0, 0.2, advance_coefficient=-0.05, wake_fraction=0.2)
    world, body = flying(losing, NO_GRAVITY)
    body.joint('spin').target_velocity = n
    world.step(20000)
    assert body.root_link.v[2] == pytest.approx(0.01 * n * 0.2 / (0.05 * 0.8), rel=1e-6)


@pytest.mark.parametrize('shape', [sb.Box((0.4, 0.3, 0.2)), sb.Cylinder(0.2, 0.3)])
def test_upright_bodies_bob_with_the_period_of_their_waterline(shape):
    """Oscillate about the draught with ω² = ρ g A / m, like a spring."""
    height = shape.size[2] if isinstance(shape, sb.Box) else shape.length
    area = shape.mass_properties(1.0).mass / height
    # half the density: the middle is at the surface
    world, body = floating(shape, position=(0.0, 0.0, 0.02))
    omega = math.sqrt(1000.0 * G * area / body.m)
    quarter = round(0.25 * 2.0 * math.pi / omega / world.time_step)
    world.step(quarter)
    t = world.time
    assert body.p[2] == pytest.approx(0.02 * math.cos(omega * t), abs=2e-7)
    assert body.v[2] == pytest.approx(-0.02 * omega * math.sin(omega * t), rel=1e-4)


def test_ball_floats_with_the_draught_of_its_cap():
    """Rest where the immersed cap's water has the ball's mass."""
    world, body = floating(sb.Sphere(0.2), 800.0, position=(0.0, 0.0, -0.05))
    world.add_force_field(sb.Hydrodynamics(linear_damping=[200.0] * 6), links=body)
    world.step(6000)
    immersed = 0.2 - body.p[2]
    cap = math.pi * immersed**2 * (0.6 - immersed) / 3.0
    assert cap == pytest.approx(0.8 * 4.0 / 3.0 * math.pi * 0.2**3, rel=1e-6)


def section_sums(radius_at, half, axis, depth, slices=4000):
    """Return volume and moments below a height, by a round solid's discs."""
    along = (np.arange(slices) + 0.5) / slices * 2.0 * half - half
    r, tilt = radius_at(along), math.hypot(axis[0], axis[1])
    edge = np.clip((depth - along * axis[2]) / (tilt * r), -1.0, 1.0)
    area = r**2 * (np.arccos(-edge) + edge * np.sqrt(1.0 - edge**2))
    first = -2.0 / 3.0 * r**3 * (1.0 - edge**2) ** 1.5
    rise = (np.array([0.0, 0.0, 1.0]) - axis[2] * np.array(axis)) / tilt
    width = 2.0 * half / slices
    moment = rise * first.sum() * width + np.array(axis) * (area * along).sum() * width
    return area.sum() * width, moment


@pytest.mark.parametrize('tilt', [1e-5, 0.01, 0.4, 1.2, math.pi / 2.0 - 1e-3, math.pi / 2.0])
@pytest.mark.parametrize('depth', [-0.2, -0.03, 0.0, 0.11])
@pytest.mark.parametrize(
    ('shape', 'radius_at', 'half', 'error'),
    [
        (sb.Cylinder(0.1, 0.5), lambda x: np.full_like(x, 0.1), 0.25, 2e-5),
        (
            sb.Capsule(0.1, 0.3),
            lambda x: np.sqrt(0.01 - np.clip(np.abs(x) - 0.15, 0.0, None) ** 2),
            0.25,
            2e-3,
        ),
        (sb.Sphere(0.25), lambda x: np.sqrt(0.0625 - x**2), 0.25, 2e-5),
    ],
)
def test_partly_immersed_shapes_have_the_buoyancy_of_their_discs(
    shape, radius_at, half, error, tilt, depth
):
    """Match force and torque with sums over discs, at any tilt and depth."""
    turned = (0.0, math.sin(0.5 * tilt), 0.0, math.cos(0.5 * tilt))
    place = {'position': (0.0, 0.0, -depth), 'orientation': turned}
    world, body = floating(shape, 1.0, time_step=1e-6, **place)
    axis = (math.sin(tilt), 0.0, math.cos(tilt))
    volume, moment = section_sums(radius_at, half, axis, depth)
    whole = shape.mass_properties(1.0).mass
    world.step()
    lift = body.last_force[2] + G * body.m
    assert lift / (1000.0 * G) == pytest.approx(volume, abs=error * whole)
    # torque = moment × (0, 0, ρ g)
    expected = 1000.0 * G * np.cross(moment, (0.0, 0.0, 1.0))
    assert body.last_torque == pytest.approx(expected, abs=error * whole * 1000.0 * G * half)


def test_meshes_hulls_and_boxes_of_one_form_float_alike():
    """Give a box as a mesh, as a hull and as itself the same force and torque."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - 0.5
    corners = corners * (0.4, 0.3, 0.2)
    hull = sb.ConvexHull(corners)
    found = []
    for shape in (sb.Box((0.4, 0.3, 0.2)), hull, sb.TriangleMesh(hull.vertices, hull.triangles)):
        world, body = floating(shape, 300.0, position=(0.1, 0.2, 0.03), orientation=TILTED)
        world.step()
        found.append([*body.last_force, *body.last_torque])
    assert found[1] == pytest.approx(found[0], rel=1e-9, abs=1e-9)
    assert found[2] == pytest.approx(found[0], rel=1e-9, abs=1e-9)


def test_layers_of_fluids_add_up_to_the_weight_of_what_is_displaced():
    """Sum a box's slices through three fluids; far above only the last one counts."""
    layers = ((-0.05, 800.0), (0.03, 1.2))
    world, body = floating(sb.Box((0.2, 0.2, 0.2)), 500.0, layers)
    world.step()
    expected = G * 0.04 * (0.05 * 1000.0 + 0.08 * 800.0 + 0.07 * 1.2)
    assert body.last_force[2] + G * body.m == pytest.approx(expected, rel=1e-4)
    world, body = floating(sb.Box((0.2, 0.2, 0.2)), 500.0, layers, position=(0.0, 0.0, 5.0))
    world.step()
    assert body.last_force[2] + G * body.m == pytest.approx(G * 0.008 * 1.2, rel=1e-9)


def test_submerged_body_swings_about_its_centre_of_volume():
    """Swing with ω² = m g d / I where the mass centre lies d below the volume's centre."""
    world = sb.World()
    text = robot(link('hull', 8.0, (0.0, 0.0, -0.05), (0.1, 0.1, 0.1)))
    body = world.load_urdf(text, base='free')
    body.set_base_pose((0.0, 0.0, 0.0), (math.sin(0.01), 0.0, 0.0, math.cos(0.01)))
    world.add_force_field(sb.Buoyancy(1000.0, volume=8e-3), links=body)
    omega = math.sqrt(8.0 * G * 0.05 / 0.1)
    world.step(round(2.0 * math.pi / omega / world.time_step))
    assert math.asin(body.root_link.R[2, 1]) == pytest.approx(0.02, rel=1e-5)
    assert body.root_link.p == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def test_hull_in_ideal_fluid_conserves_kinetic_energy_and_momentum():
    """Match Kirchhoff's equations at second order for any added mass, also off the centre."""
    root = np.random.default_rng(1).normal(size=(6, 6))
    added, mass = 0.3 * root @ root.T, np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3])

    def conserved(body):
        twist = np.concatenate([body.R.T @ body.v, body.R.T @ body.w])
        momentum = (mass + added) @ twist
        linear = body.R @ momentum[:3]
        angular = body.R @ momentum[3:] + np.cross(body.p, linear)
        return np.array([0.5 * twist @ momentum, *linear, *angular])

    errors = []
    for h in (2e-3, 1e-3):
        world = sb.World(time_step=h, gravity=NO_GRAVITY)
        body = world.add_body(
            (),
            mass=2.0,
            inertia=(0.1, 0.2, 0.3),
            linear_velocity=(1.0, 0.5, -0.3),
            angular_velocity=(0.5, 1.0, 0.2),
        )
        world.add_force_field(sb.Hydrodynamics(added), links=body)
        before = conserved(body.root_link)
        world.step(round(1.0 / h))
        errors.append(np.abs(conserved(body.root_link) - before).max())
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_current_carries_the_hull_like_a_moving_frame():
    """Move relative to the water as in water at rest (Galilei)."""
    current = np.array([0.4, -0.2, 0.7])
    found = []
    for drift in (np.zeros(3), current):
        world = sb.World(gravity=NO_GRAVITY)
        body = world.add_body(
            (),
            mass=2.0,
            inertia=(0.1, 0.2, 0.3),
            linear_velocity=drift + (1.0, 0.5, -0.3),
            angular_velocity=(0.5, 1.0, 0.2),
        )
        mixed = np.zeros((6, 6, 6))
        mixed[1, 0, 5] = 0.2
        hull = sb.Hydrodynamics([1, 2, 3, 0.1, 0.2, 0.3], [0.1] * 6, [0.3] * 6, mixed, drift)
        world.add_force_field(hull, links=body)
        world.step(500)
        found.append(np.concatenate([body.root_link.p - 0.5 * drift, body.root_link.v - drift]))
    assert found[1] == pytest.approx(found[0], abs=1e-12)


def test_added_mass_is_inertia_and_damping_of_any_size_is_stable():
    """Accelerate by F / (m + A); stop under damping rates up to 1e6 per step."""
    world = sb.World(gravity=NO_GRAVITY)
    body = world.add_body(sb.Sphere(0.1), mass=2.0)
    world.add_force_field(
        sb.Hydrodynamics([3.0, 4.0, 5.0, 0.0, 0.0, 0.0], coriolis=False), 'hull', body
    )
    world.add_force_field(sb.UniformField((1.0, 1.0, 1.0)))
    world.step(100)
    assert body.root_link.v == pytest.approx(0.1 / (2.0 + np.array([3.0, 4.0, 5.0])), rel=1e-12)
    world.set_force_field('hull', sb.Hydrodynamics(linear_damping=[2e9] * 6))
    body.set_base_velocity((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    world.step(100)
    assert np.abs(body.root_link.v).max() < 4.0 and np.isfinite(body.root_link.v).all()


@pytest.mark.parametrize('alpha', [-0.6, -0.1, 0.05, 0.2, 0.6])
def test_wing_has_the_lift_drag_and_moment_of_its_angle_of_attack(alpha):
    """Match coefficients linear up to the stall and beyond, at the pressure centre."""
    wing = sb.LiftDrag(
        cla=4.0,
        cda=0.5,
        cma=0.2,
        alpha_stall=0.3,
        cla_stall=-3.0,
        cda_stall=0.8,
        cma_stall=0.1,
        air_density=1.2,
        area=0.5,
        a0=0.02,
        cp=(0.1, 0.0, 0.2),
    )
    world = sb.World(gravity=NO_GRAVITY, time_step=1e-6)
    speed, whole = 20.0, alpha + 0.02
    velocity = speed * np.array([math.cos(alpha), 0.0, -math.sin(alpha)])
    body = world.add_body(
        (), mass=1.0, inertia=(1.0, 1.0, 1.0), linear_velocity=velocity
    ).root_link
    world.add_force_field(wing, links=body)
    world.step()
    within = min(max(whole, -0.3), 0.3)
    beyond = whole - within
    cl, cd, cm = (
        4.0 * within - 3.0 * beyond,
        0.5 * within + 0.8 * beyond,
        0.2 * within + 0.1 * beyond,
    )
    if abs(whole) > 0.3:
        cl = math.copysign(max(math.copysign(cl, cl * whole), 0.0), whole)
    q = 0.5 * 1.2 * speed**2 * 0.5
    lift = q * cl * np.array([math.sin(alpha), 0.0, math.cos(alpha)])
    force = lift - q * abs(cd) * velocity / speed
    # forward × upward = -y
    torque = np.cross(wing.cp, force) + q * cm * np.array([0.0, -1.0, 0.0])
    assert body.last_force == pytest.approx(force, rel=1e-6, abs=1e-9)
    assert body.last_torque == pytest.approx(torque, rel=1e-6, abs=1e-9)


def test_wing_feels_nothing_from_behind_or_at_rest_and_glides_at_its_terminal_speed():
    """Sink at the speed whose lift is the weight; a reversible wing also works backwards."""
    world = sb.World(gravity=NO_GRAVITY)
    body = world.add_body((), mass=1.0, inertia=(1.0, 1.0, 1.0), linear_velocity=(-5.0, 0, 0.5))
    wing = sb.LiftDrag(cla=1.0)
    world.add_force_field(wing, 'wing', body)
    world.step()
    assert not body.root_link.last_force.any()
    world.set_force_field('wing', sb.LiftDrag(cla=1.0, reversible=True))
    world.step()
    assert body.root_link.last_force[2] < -0.1
    # straight down: no lift, and drag ½ ρ A cd v² as for a plate at a right angle to the flow
    world = sb.World()
    body = world.add_body((), mass=1.0, inertia=(1.0, 1.0, 1.0))
    plate = sb.LiftDrag(cla=0.0, cda=0.0, alpha_stall=0.0, cda_stall=1.0, reversible=True)
    world.add_force_field(plate, 'wing', body)
    world.step(5000)
    cd = 0.5 * math.pi
    expected = -math.sqrt(G / (0.5 * 1.2041 * cd))
    assert body.root_link.v == pytest.approx([0.0, 0.0, expected], rel=1e-6, abs=1e-9)


def test_control_surface_changes_the_lift_by_its_joint():
    """Add the joint's position times its factor to the lift coefficient."""
    world = sb.World(gravity=NO_GRAVITY, time_step=1e-6)
    body = world.load_urdf(vehicle(axis=(0, 1, 0)), base='free')
    body.set_base_velocity((10.0, 0.0, 0.0))
    wing = sb.LiftDrag(joint='spin', control_joint_rad_to_cl=2.0, air_density=1.0, cm_delta=0.5)
    world.add_force_field(wing, links=body.root_link)
    body.joint('spin').q = 0.1
    world.step()
    assert body.root_link.last_force[2] == pytest.approx(50.0 * 2.0 * 0.1, rel=1e-6)
    assert body.root_link.last_torque[1] == pytest.approx(-50.0 * 0.5 * 0.1, rel=1e-6)


def everything():
    """Return a world with all fluid forces at work."""
    world, body = flying(sb.Rotor('spin', thrust_constant=1e-5))
    hull = sb.Hydrodynamics([1, 2, 3, 0.1, 0.2, 0.3], [0.1] * 6, [0.3] * 6, current=(0.3, 0, 0))
    world.add_force_field(hull, links=body.root_link)
    world.add_force_field(sb.Buoyancy(900.0, [(0.0, 1.2)], volume=1e-3), links=body.root_link)
    world.add_force_field(sb.LiftDrag(reversible=True, area=0.05), links=body.root_link)
    body.set_base_velocity((1.0, 0.2, 0.3), (0.1, 0.2, 0.3))
    body.joint('spin').target_velocity = 300.0
    return world, body


def test_fluid_forces_belong_to_snapshots_copies_pickles_and_resets():
    """Reach the same bits from a snapshot, a copy, a pickle and after a reset."""
    world, body = everything()
    start = world.save()
    world.step(50)
    half, middle = world.save(), world.state_hash()
    world.step(50)
    end = world.state_hash()
    world.restore(half)
    assert world.state_hash() == middle
    for same in (world.copy(), pickle.loads(pickle.dumps(world)), world):
        same.step(50)
        assert same.state_hash() == end
    world.restore(start)
    world.step(100)
    assert world.state_hash() == end
    # the rotor begins at rest again
    world.reset()
    assert body.joint('spin').target_velocity == 0.0
    body.joint('spin').target_velocity = 300.0
    world.step()
    assert body.joint('spin').dq == pytest.approx(300.0 * (1.0 - math.exp(-0.08)), rel=1e-9)


def test_batches_apply_fluid_forces_with_the_bits_of_single_worlds():
    """Step three worlds with their own rotor speeds as one world each."""
    worlds = []
    for speed in (100.0, 200.0, 300.0):
        world, body = everything()
        body.joint('spin').target_velocity = speed
        worlds.append(world)
    batch = sb.Batch(worlds[0], 3)
    batch.robots['robot'].target_velocity[:, 0] = 100.0, 200.0, 300.0
    batch.step(50)
    for at, world in enumerate(worlds):
        world.step(50)
        own = world.robots['robot']
        assert np.array_equal(batch.robots['robot'].dq[at], own.dq)
        assert np.array_equal(batch.robots['robot'].base_linear_velocity[at], own.root_link.v)


def test_buoyancy_follows_moved_added_and_removed_shapes():
    """Use a link's volumes, also after its shapes have changed."""
    world = sb.World()
    body = world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0)
    world.add_force_field(sb.Buoyancy(), links=body)

    def lift():
        world.step()
        return (body.root_link.last_force[2] + G) / (1000.0 * G)

    assert lift() == pytest.approx(1e-3)
    added = body.root_link.add_geometry(sb.Box((0.2, 0.1, 0.1)))
    assert lift() == pytest.approx(3e-3)
    added.position = (0.1, 0.0, 0.0)
    world.step()
    assert body.root_link.last_torque[1] == pytest.approx(-2.0 * G * 0.1, rel=1e-2)
    added.remove()
    assert lift() == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ('make', 'words'),
    [
        (lambda: sb.Rotor('spin', slowdown=0.0), 'slowdown'),
        (lambda: sb.Rotor('spin', time_constant_up=-1.0), 'time_constant_up'),
        (lambda: sb.Rotor(3), 'joint'),
        (lambda: sb.Thruster('spin', diameter=-1.0), 'diameter'),
        (lambda: sb.LiftDrag(forward=(0, 0, 0)), 'forward'),
        (lambda: sb.Hydrodynamics([1, 2, 3]), 'added_mass'),
        (lambda: sb.Hydrodynamics(sb.Sphere(0.1)), 'added_mass'),
        (lambda: sb.AdvancedLiftDrag(joints=3), 'joints'),
        (lambda: sb.AdvancedLiftDrag(derivatives=sb.Sphere(0.1)), 'derivatives'),
        (lambda: sb.Hydrodynamics(quadratic_damping=[[1], [2, 3]]), 'quadratic_damping'),
        (lambda: sb.Hydrodynamics([-1, 0, 0, 0, 0, 0]), 'added_mass'),
        (lambda: sb.Buoyancy(layers=[(1, 2), (0, 1)]), 'layers'),
        (lambda: sb.Buoyancy(layers=[3]), 'layers'),
        (lambda: sb.Buoyancy(density=-1.0), 'density'),
    ],
)
def test_wrong_parameters_are_named(make, words):
    """Raise InvalidValueError with the attribute."""
    with pytest.raises(sb.InvalidValueError, match=words):
        make()


def test_propellers_need_a_joint_of_their_links():
    """Raise InvalidValueError for no joint, an unknown one, and for no links."""
    world = sb.World()
    body = world.load_urdf(vehicle(), base='free')
    for field, links, words in (
        (sb.Rotor(), body, 'joint'),
        (sb.Rotor('turn'), body, 'spin'),
        (sb.Thruster('spin'), None, 'links'),
        (sb.LiftDrag(joint='flap'), body, 'spin'),
    ):
        with pytest.raises(sb.InvalidValueError, match=words):
            world.add_force_field(field, links=links)
    assert not world.force_fields
