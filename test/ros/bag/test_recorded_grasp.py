"""A hand lifting a ball by commands: readings of its fingertip sensors."""

from __future__ import annotations

from pathlib import Path

from bags import messages_on, no_progress, read_bag, start_recording
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState

import sim_bridge as sb

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

DIGITS = 'index', 'middle', 'ring', 'thumb'
MASS, G = 0.2, 9.81
SCENE = f"""
world:
  ground: {{}}
  objects:
    ball: {{sphere: 0.035, mass: {MASS}, position: [0.0, 0.0, 0.035]}}
  robots:
    hand: {{urdf: hand}}
"""
# time [s], lift [m], fingers and thumb (mcp, pip, dip) [rad]; closed beyond first touch
POSTURES = (
    (0.0, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    (0.3, 0.0, (-0.75, 0.75, 0.5), (-1.15, 1.2, 0.55)),
    (0.6, -0.045, (-0.75, 0.75, 0.5), (-1.15, 1.2, 0.55)),
    (1.0, -0.045, (-0.41, 0.83, 0.58), (-0.74, 1.3, 0.64)),
    (1.1, -0.045, (-0.41, 0.83, 0.58), (-0.74, 1.3, 0.64)),
    (1.6, 0.055, (-0.41, 0.83, 0.58), (-0.74, 1.3, 0.64)),
)


def write_commands(path: Path, names: list[str]) -> None:
    """Write positions for the hand's servos every 5 ms."""
    table = np.array(
        [[lift, *fingers, *fingers, *fingers, 0.0, *thumb] for _, lift, fingers, thumb in POSTURES]
    )
    times = [posture[0] for posture in POSTURES]
    lines = [','.join(['time', *(f'{name}.position' for name in names)])]
    for time in np.arange(0.0, times[-1] + 1e-9, 0.005):
        row = [np.interp(time, times, column) for column in table.T]
        lines.append(','.join(f'{value:.9g}' for value in (time, *row)))
    path.write_text('\n'.join(lines) + '\n')


def test_fingertip_sensors_bear_the_lifted_weight(tmp_path):
    """Compare the summed fingertip forces, in world axes, with the weights of ball and tips."""
    scene, commands, bag = tmp_path / 'scene.yaml', tmp_path / 'commands.csv', tmp_path / 'bag'
    scene.write_text(SCENE)
    hand = sb.World().load_urdf('hand')
    names = hand.joint_names
    write_commands(commands, [f'hand/{name}' for name in names])
    gains = {
        name: {'p': 3000.0, 'd': 80.0} if name == 'lift' else {'p': 20.0, 'd': 0.2}
        for name in names
    }
    start_recording(
        bag,
        commands=commands,
        robot='',
        world=str(scene),
        control={'hand': dict.fromkeys(names, 'servo')},
        gains={'hand': gains},
    ).run(2.2, no_progress)
    recorded = read_bag(bag)
    state = messages_on(recorded, '/hand/joint_states', JointState)[-1]
    sb.dynamics.set_configuration(
        hand, [state.position[list(state.name).index(name)] for name in names]
    )
    assert hand.joint('lift').q == pytest.approx(0.055, abs=0.005)
    borne = np.zeros(3)
    for digit in DIGITS:
        wrench = messages_on(recorded, f'/hand/{digit}_tip/wrench', WrenchStamped)[-1]
        assert wrench.header.stamp == state.header.stamp
        force = wrench.wrench.force
        borne += hand.link(f'{digit}_tip').R @ [force.x, force.y, force.z]
    tips = sum(hand.link(f'{digit}_tip').m for digit in DIGITS)
    np.testing.assert_allclose(borne, [0.0, 0.0, -G * (MASS + tips)], atol=0.01 * G * MASS)
