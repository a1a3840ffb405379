"""Bags of robots with known parameters, for identification tests."""

from __future__ import annotations

from collections.abc import Callable
import csv
from pathlib import Path

from bags import no_progress, read_bag, start_recording
import numpy as np
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

import sim_bridge as sb
from sim_bridge.identification.recording import Recording
from sim_bridge.ros.bag.bag_sink import BagSink
from sim_bridge.ros.bag.bag_writer import Recorder

Reference = Callable[[float], np.ndarray]


def scale_mass(robot: sb.Robot, link: str, mass: float) -> None:
    """Give a link another mass, with its shape and centre of mass unchanged."""
    own = robot.link(link)
    inertia = own.I * (mass / own.m)
    own.m, own.I = mass, inertia


def swings(robot: sb.Robot, seed: int, amplitude: float = 0.4) -> Reference:
    """Return positions over time for a motion that excites all joints, from their positions."""
    draw = np.random.default_rng(seed)
    start, n = np.array(robot.q), len(robot.joint_names)
    size = draw.uniform(0.5, 1.0, n) * amplitude
    rate = 2.0 * np.pi * draw.uniform(0.2, 0.6, (2, n))
    phase = draw.uniform(0.0, 2.0 * np.pi, (2, n))
    return lambda time: (
        start + np.sum(size * (np.sin(rate * time + phase) - np.sin(phase)), axis=0)
    )


def commands_that_follow(
    robot: sb.Robot, reference: Reference, duration: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return times, (M,), and efforts, (M, n), that move a robot along a reference."""
    step, times, efforts = robot.world.time_step, [], []
    for k in range(round(duration / step)):
        pull = 100.0 * (reference(k * step) - robot.q) - 14.0 * np.array(robot.dq)
        robot.u = sb.dynamics.inverse_dynamics(robot, pull)
        times.append(k * step)
        efforts.append(np.array(robot.u))
        robot.world.step()
    return np.array(times), np.array(efforts)


def recorded(
    robot: sb.Robot,
    reference: Reference,
    duration: float,
    *,
    period: float = 0.002,
    noise: tuple[float, float] = (1e-4, 2e-3),
    seed: int = 0,
) -> Recording:
    """
    Return the sensor values of a robot following a reference.

    noise: standard deviations of positions and velocities.
    """
    draw = np.random.default_rng(seed)
    world, step = robot.world, robot.world.time_step
    every, times, q, dq, efforts = round(period / step), [], [], [], []
    for k in range(round(duration / step)):
        if k % every == 0:
            times.append(k * step)
            q.append(np.array(robot.q))
            dq.append(np.array(robot.dq))
        pull = 100.0 * (reference(k * step) - robot.q) - 14.0 * np.array(robot.dq)
        robot.u = sb.dynamics.inverse_dynamics(robot, pull)
        efforts.append(np.array(robot.u))
        world.step()
    positions, velocities = np.array(q), np.array(dq)
    return Recording(
        'made',
        tuple(robot.joint_names),
        np.array(times),
        positions + noise[0] * draw.normal(size=positions.shape),
        velocities + noise[1] * draw.normal(size=velocities.shape),
        step * np.arange(len(efforts)),
        np.array(efforts),
    )


def record_commands(
    bag: Path,
    urdf: Path,
    times: np.ndarray,
    efforts: np.ndarray,
    names: list[str],
    **parameters: object,
) -> None:
    """Record a robot under commands, with the package's simulator."""
    table = bag.with_suffix('.csv')
    with table.open('w', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(['time', *names])
        writer.writerows(
            [repr(float(time)), *map(repr, row.tolist())]
            for time, row in zip(times, efforts, strict=True)
        )
    run = start_recording(bag, commands=table, robot=str(urdf), **parameters)
    run.run(float(times[-1]), no_progress)


def with_noise(
    bag: Path, noisy: Path, noise: tuple[float, float], seed: int, latency: float = 0.003
) -> None:
    """
    Write a bag like a driver's: noisy joint states, received late, stamped in headers.

    noise: position and velocity standard deviations. latency: upper bound [s].
    """
    draw = np.random.default_rng(seed)
    recorder = Recorder(noisy)
    sink = BagSink(recorder)
    outlets = {}
    begin, received = 1_700_000_000_000_000_000, 0
    for each in read_bag(bag):
        if each.topic not in ('/joint_states', '/joint_commands'):
            continue
        message = deserialize_message(each.data, JointState)
        stamp = begin + each.time_ns
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        if each.topic == '/joint_states':
            count = len(message.position)
            message.position = (
                np.array(message.position) + noise[0] * draw.normal(size=count)
            ).tolist()
            message.velocity = (
                np.array(message.velocity) + noise[1] * draw.normal(size=count)
            ).tolist()
            message.effort = []
        if each.topic not in outlets:
            outlets[each.topic] = sink.open(each.topic, JointState, QoSProfile(depth=10))
        received = max(received, stamp + int(1e9 * draw.uniform(0.0, latency)))
        sink.begin(received)
        outlets[each.topic].publish(message)
    recorder.close()
