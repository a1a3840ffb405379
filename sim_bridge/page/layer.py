"""Page layers, each with its part of the scene and its widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import viser

from sim_bridge.page.channel import Frame
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Notice, Reshaping, Structure

ROOT = '/world'
"""Parent of all nodes with a place in the world."""


class Context(NamedTuple):
    """
    Arguments common to all layers.

    server: the page's. ask: sends a request, by its name and values. say: shows a notice on the
    page, from any thread. root: the world's node, moved when a link is followed. run, show,
    joints, plots: panel tabs for widgets.
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
    Part of the page.

    Widget callbacks run on other threads: they ask the simulator, or change plain attributes read
    by the next `update`.
    """

    def show(self, structure: Structure) -> None:
        """Restart with a new structure."""

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the newest frame."""

    def notice(self, notice: Notice) -> None:
        """Take a notice from the simulator."""

    def reshape(self, change: Reshaping) -> None:
        """Draw the new surface of a mesh from the next frame on."""


class PlainLayer:
    """Layer that shows nothing; subclasses override the methods they need."""

    def __init__(self, context: Context):
        """Store the page's server and request function."""
        self.server, self.ask = context.server, context.ask

    def show(self, structure: Structure) -> None:
        """Restart with a new structure."""

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the newest frame."""

    def notice(self, notice: Notice) -> None:
        """Take a notice from the simulator."""

    def reshape(self, change: Reshaping) -> None:
        """Draw the new surface of a mesh from the next frame on."""
