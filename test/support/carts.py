"""Carts on rails, and other one-joint robots."""

from __future__ import annotations

from robots import rotor

import sim_bridge as sb

LIMIT = '<limit lower="{}" upper="{}" effort="{}" velocity="{}"/>'


FRICTION = '<dynamics friction="{}"/>'


def load(xml, **options):
    """Return a world with one robot, and its joint named 'joint'."""
    world = sb.World(**options)
    body = world.load_urdf(xml)
    return world, body, body.joint('joint')


def cart(friction=0.0, effort=1e9, lower=-100, upper=100, velocity=10, **options):
    """Return a 2 kg cart on a rail, its joint, and their world."""
    limit = LIMIT.format(lower, upper, effort, velocity)
    return load(rotor(kind='prismatic', inside=limit + FRICTION.format(friction)), **options)
