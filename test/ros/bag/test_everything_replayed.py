"""A recording with all actions possible in a world, and all changes made by services."""

from __future__ import annotations

from bags import start_recording
from everything import CHANGES, FIELDS, SCENE
import pytest

from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_everything_is_replayed_to_the_same_bits(tmp_path):
    """Change settings, fields, sleep, masses, shapes and ground in a run, restore, and replay."""
    (tmp_path / 'scene.yaml').write_text(SCENE)
    run = start_recording(
        tmp_path / 'bag', robot='', world=str(tmp_path / 'scene.yaml'), record_hash_period=0.01
    )
    simulator, saved = run.simulator, {}
    between = {
        20: lambda: simulator.configure({'solver': 'split', 'gravity': [0.3, 0.0, -9.0]}),
        60: lambda: simulator.set_force_fields(FIELDS),
        150: lambda: simulator.change(CHANGES),
        170: lambda: saved.update(a=simulator.save()),
        180: lambda: simulator.configure({'sleep': False, 'integrator': 'rk5'}),
        185: lambda: simulator.change(
            '{foam: {disabled: false}, ring: {shapes: {ring_collision_0: {position: [0, 0, 0.1]}},'
            ' sleep: false}, cart: {joints: {}, mass: 20}}'
        ),
        190: lambda: simulator.set_force_fields('{}'),
        210: lambda: simulator.restore(saved['a'], clock=False),
        230: lambda: simulator.reset(clock=False),
        240: lambda: simulator.move('glue', ((-2.0, 2.0, 0.4), (0.0, 0.0, 0.0, 1.0))),
    }
    for step in range(280):
        between.get(step, bool)()
        simulator.tick()
        if step == 150:
            assert simulator.world.broken_joints == ['latch']
        if step == 205:
            assert simulator.settings == {
                'solver': 'split',
                'integrator': 'rk5',
                'sleep': False,
                'force_fields': '{}',
                'gravity': (0.3, 0.0, -9.0),
            }
    assert simulator.settings == {
        'solver': 'split',
        'integrator': 'midpoint',
        'sleep': True,
        'force_fields': FIELDS,
        'gravity': (0.3, 0.0, -9.0),
    }
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()
    assert verdict.hashes > 25 and verdict.commands == len(between)
