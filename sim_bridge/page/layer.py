"""What a page is made of: layers, each a concept with its part of the scene and its widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import viser

from sim_bridge.page.channel import Frame
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Notice, Reshaping, Structure

ROOT = '/world'
"""Parent of all that has a place in the world."""


class Context(NamedTuple):
    """
    What every layer gets.

    server: of the page. ask: sends a request, by its name and values. say: tells somebody at the
    page something, from any thread. root: the node of the world, which moves when a link is
    followed. run, show, joints, plots: the tabs of the panel, to put widgets in.
    """

    server: viser.ViserServer
    ask: Callable[..., None]
    say: Callable[[Notice], None]
    root: viser.FrameHandle
    run: viser.GuiTabHandle
    show: viser.GuiTabHandle
    joints: viser.GuiTabHandle
    plots: viser.GuiTabHandle


class Layer(Protocol):
    """
    A part of the page.

    Widgets' callbacks come from threads of their own: they ask the simulator, or change plain
    attributes that the next `update` reads.
    """

    def show(self, structure: Structure) -> None:
        """Begin anew with what there is to see."""

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the newest frame."""

    def notice(self, notice: Notice) -> None:
        """Take what the simulator says."""

    def reshape(self, change: Reshaping) -> None:
        """Draw another surface of a mesh from the next frame on."""


class PlainLayer:
    """A layer that shows nothing; others override what they need."""

    def __init__(self, context: Context):
        """Belong to a page."""
        self.server, self.ask = context.server, context.ask

    def show(self, structure: Structure) -> None:
        """Begin anew with what there is to see."""

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the newest frame."""

    def notice(self, notice: Notice) -> None:
        """Take what the simulator says."""

    def reshape(self, change: Reshaping) -> None:
        """Draw another surface of a mesh from the next frame on."""
