"""Contact events, broken joints, gravity and force fields in a simulator and its bags."""

from __future__ import annotations

import json

from bags import messages_on, read_bag, start_recording
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState, PointCloud2
from std_msgs.msg import String

import sim_bridge as sb
from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.wire.contact_messages import BEGIN, CONTACT_EVENT, END, PERSIST

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SCENE = """
world:
  ground: true
  materials:
    rubber: {}
  contact_materials:
    - {between: [rubber, default], restitution: 0.8}
  force_fields:
    wind: {type: drag, linear: 0.2, wind: [1.0, 0, 0], links: [ball]}
  objects:
    ball: {sphere: 0.1, position: [0, 0, 0.2], mass: 1.0, material: rubber}
    crate: {box: [0.2, 0.2, 0.2], position: [2.0, 0, 0.099], mass: 1.0}
"""


def recorded(path, steps=600, **parameters):
    """Record a scene run; return its simulator and the messages in the bag."""
    file = path / 'scene.yaml'
    file.write_text(SCENE)
    run = start_recording(
        path / 'bag', robot='', world=str(file), record_hash_period=0.05, **parameters
    )
    for _ in range(steps):
        run.simulator.tick()
    run.recording.close()
    return run.simulator, read_bag(path / 'bag')


def events_in(messages):
    """Return the rows in all event messages, and their stamps [ms]."""
    clouds = messages_on(messages, '/contacts/events', PointCloud2)
    assert all(cloud.point_step == CONTACT_EVENT.itemsize for cloud in clouds)
    return (
        [np.frombuffer(bytes(cloud.data), CONTACT_EVENT) for cloud in clouds],
        [
            round(cloud.header.stamp.sec * 1e3 + cloud.header.stamp.nanosec * 1e-6)
            for cloud in clouds
        ],
    )


def bounces(path):
    """Return the touching geometries in each physics step, in a world loaded from the scene."""
    world = sb.World(time_step=5e-4)
    world.load_scene(path / 'scene.yaml')
    touching = []
    for _ in range(1200):
        world.step()
        touching.append({tuple(pair) for pair in world.contacts.indices.tolist()})
    return touching


def test_every_begin_and_end_is_published_in_its_step(tmp_path):
    """Report a bouncing ball, also in physics steps within control steps, but no resting body."""
    simulator, messages = recorded(tmp_path, substeps=2)
    clouds, stamps = events_in(messages)
    wanted, before = [], set()
    for step, pairs in enumerate(bounces(tmp_path), 1):
        wanted += [(step, pair, BEGIN) for pair in sorted(pairs - before)]
        wanted += [(step, pair, END) for pair in sorted(before - pairs)]
        before = pairs
    rows = np.concatenate(clouds)
    found = dict.fromkeys(
        (int(row['step']), (int(row['geometry_a']), int(row['geometry_b'])), int(row['event']))
        for row in rows
    )
    assert sorted(found) == sorted(wanted)
    assert sum(kind == END for *_, kind in wanted) >= 2
    for cloud, stamp in zip(clouds, stamps, strict=True):
        assert set(((cloud['step'] + 1) // 2).tolist()) == {stamp}
    assert not rows['impulse'][rows['event'] == END].any()
    hits = rows[(rows['event'] == BEGIN) & (rows['geometry_b'] == 1)]
    assert (np.abs(hits['impulse'][:, 2]) > 0.1).any()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()


def test_persisting_pairs_are_published_on_request(tmp_path):
    """Give the four points on a crate at rest in each step, with the impulse from its weight."""
    _, messages = recorded(tmp_path, steps=300, contact_events=['persist'])
    clouds, stamps = events_in(messages)
    assert stamps == list(range(stamps[0], 301)) and stamps[0] <= 3
    last = clouds[-1][(clouds[-1]['geometry_a'] == 2) | (clouds[-1]['geometry_b'] == 2)]
    assert len(last) == 4 and (last['event'] == PERSIST).all()
    assert abs(last['impulse'][:, 2].sum()) == pytest.approx(9.81e-3, rel=1e-6)


def test_gravity_and_fields_change_while_it_runs_and_replay(tmp_path):
    """Apply gravity and fields from the next step on, and replay to the same bits."""
    text = '{lift: {type: uniform, acceleration: [0, 0, 20], links: [crate/crate]}}'
    heights, file = [], tmp_path / 'scene.yaml'
    file.write_text(SCENE)
    made = start_recording(tmp_path / 'bag', robot='', world=str(file), record_hash_period=0.05)
    simulator, world = made.simulator, made.simulator.world
    assert list(world.force_fields) == ['wind']
    for step in range(400):
        if step == 100:
            simulator.configure({'gravity': (0.0, 0.0, -1.62)})
        if step == 200:
            simulator.set_force_fields(text)
            for wrong, error in (
                ('{a: {type: drag, linear: -1}}', 'linear'),
                ('{a: {type: gale}}', 'must be one of uniform'),
                ('{a: {type: drag, links: [nobody]}}', 'nobody'),
                ('[', 'no YAML'),
                ('3', 'by name'),
            ):
                with pytest.raises(sb.SimBridgeError, match=error):
                    simulator.set_force_fields(wrong)
            with pytest.raises(sb.SimBridgeError, match='gravity'):
                simulator.configure({'solver': 'split', 'gravity': (0.0, 0.0, 1e10)}, '{}')
            with pytest.raises(sb.SimBridgeError, match='nobody'):
                simulator.configure({'solver': 'split'}, '{a: {type: drag, links: [nobody]}}')
            assert list(world.force_fields) == ['lift']
            assert world.solver == 'direct' and world.gravity.tolist() == [0.0, 0.0, -1.62]
        simulator.tick()
        heights.append(world.robots['crate'].root_link.p[2])
    made.recording.close()
    assert world.gravity.tolist() == [0.0, 0.0, -1.62]
    assert heights[199] == pytest.approx(0.1, abs=1e-4)
    assert heights[399] == pytest.approx(0.1 + 0.5 * 18.38 * 0.2**2, rel=1e-3)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == world.state_hash()


def test_a_program_that_acts_ends_a_replay(tmp_path):
    """Record in the bag that functions act, and that replay stops there."""
    run = start_recording(tmp_path / 'bag')
    for step in range(50):
        if step == 20:
            run.simulator.world.before_step(push_nothing)
        run.simulator.tick()
    run.recording.close()
    with pytest.raises(ReplayError, match=r'after step 20 .*before_step: .*push_nothing'):
        replay(tmp_path / 'bag')


def push_nothing(world):
    """Do nothing, before a step."""


def test_broken_joints_are_published_when_they_break(tmp_path):
    """Publish the name and the break time of a joint that breaks under its load."""
    joints = tmp_path / 'joints.yaml'
    joints.write_text(
        'joints:\n  - {name: hook, type: ball, link1: lower_rod, link2: world, break_force: 9}\n'
    )
    run = start_recording(tmp_path / 'bag', extra_joints=str(joints), initial_positions=[0.9, 0.3])
    (interface,) = run.simulator.interfaces
    for step in range(200):
        interface.command_topics[0].take(
            serialize_message(JointState(name=['shoulder'], effort=[0.2 * step]))
        )
        run.simulator.tick()
    run.recording.close()
    told = [
        json.loads(each.data)
        for each in messages_on(read_bag(tmp_path / 'bag'), '/joints/broken', String)
    ]
    assert told[0] == {} and list(told[-1]) == run.simulator.world.broken_joints
    assert len(told) == 2 and 0.0 < told[-1].popitem()[1] <= 0.2
    assert replay(tmp_path / 'bag').is_same


def test_wrong_parameters_of_events_and_fields_are_refused():
    """Name the parameter, the value and the alternatives."""
    for values, text in (
        ({'contact_events': ['touch']}, 'contact_events.*begin'),
        ({'force_fields': '{a: 3}'}, 'force_fields'),
        ({'force_fields': '{a: {type: drag, wnd: [1, 0, 0]}}'}, 'wnd.*wind'),
    ):
        with pytest.raises(sb.InvalidValueError, match=text):
            checked(SimulatorParameters, {'robot': 'pendulum', **values})
