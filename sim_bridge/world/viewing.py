"""The live page of a world, as programs see it."""

from __future__ import annotations

from typing import Protocol


class WorldViewer(Protocol):
    """
    What `World.view` returns; a context manager that closes the page.

    url: address of the page, with the token that opens it. visitor_url: for those who may look and
    change nothing. is_open: whether the page is there.
    """

    @property
    def url(self) -> str:
        """Address of the page on this machine."""

    @property
    def visitor_url(self) -> str:
        """Address for visitors."""

    @property
    def is_open(self) -> bool:
        """Whether the page's process runs."""

    def sync(self) -> None:
        """Show the present state, and do what the page wishes; steps do so by themselves."""

    def wait(self) -> None:
        """Show the world, without a step, until the page's process ends."""

    def close(self) -> None:
        """Close the page; the world goes on."""

    def __enter__(self) -> WorldViewer:
        """Return itself."""

    def __exit__(self, *args: object) -> None:
        """Close the page."""
