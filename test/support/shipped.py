"""The robots shipped with the package, and how tests drive them."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / 'urdf'


def path_of(name):
    """Return a shipped robot's path."""
    return FOLDER / f'{name}.urdf'


def drive(robot, left, right):
    """Set both tracks' speeds [m/s]."""
    for crawler, speed in zip(robot.crawlers, (left, right), strict=True):
        crawler.speed = speed
