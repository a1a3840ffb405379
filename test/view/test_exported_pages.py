"""Pages with a recorded motion, decoded like in a browser."""

from __future__ import annotations

import numpy as np
import pytest
from support.page_client import recording

import sim_bridge as sb
from sim_bridge.page.export import html
from sim_bridge.view.taping import Taping

STEP, MASS = 1e-3, 5.0


@pytest.fixture(scope='module')
def tape():
    """Return the tape of a box that falls to the ground and rests there."""
    world = sb.World(STEP)
    world.add_ground()
    world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=MASS, name='box', position=(0.0, 0.0, 0.15))
    taping = Taping(world, 'fall', 50.0)
    for _ in range(500):
        taping.look(world.time)
        world.step()
    return taping.tape([])


def arrows(page: str) -> list[np.ndarray]:
    """Return the arrows (n, 2, 3) of contact forces, at each change."""
    return [
        message['updates']['points'].reshape(-1, 2, 3)
        for _, message in recording(page)[1]
        if message.get('name') == '/world/forces' and 'points' in message.get('updates', {})
    ]


def test_contact_forces_are_exported_where_they_are_wanted(tape):
    """Draw arrows with the box's weight at the end, and none before the landing."""
    assert not arrows(html(tape))
    found = arrows(html(tape, shows_forces=True))
    scale = tape.takes[0].structure.force_scale
    force = np.diff(found[-1], axis=1).sum(axis=(0, 1)) / scale
    assert force == pytest.approx((0.0, 0.0, MASS * 9.81), rel=1e-3, abs=1e-3)
    landed = sum(len(moment.contacts) > 0 for moment in tape.takes[0].moments)
    assert len(found) == landed < len(tape.takes[0].moments)
