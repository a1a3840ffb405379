"""Interface to a world's live page."""

from __future__ import annotations

from typing import Protocol


class WorldViewer(Protocol):
    """
    Result from `World.view`; a context manager that closes the page.

    url: page address, with the token that opens it. visitor_url: address for the read-only
    page. is_open: whether the page's process runs.
    """

    @property
    def url(self) -> str:
        """The page's address on this machine."""

    @property
    def visitor_url(self) -> str:
        """Address for visitors, who can look but change nothing."""

    @property
    def is_open(self) -> bool:
        """Whether the page's process runs."""

    def sync(self) -> None:
        """Show the current state, and execute requests from the page; steps call this."""

    def wait(self) -> None:
        """Show the world without stepping until the page's process ends."""

    def close(self) -> None:
        """Close the page; the world continues."""

    def __enter__(self) -> WorldViewer:
        """Return this object."""

    def __exit__(self, *args: object) -> None:
        """Close the page."""
