"""Findings about elements of a compiled model without simulation."""

from __future__ import annotations

from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.report import Findings


class Notes:
    """Findings of one file, with the place of each element."""

    def __init__(self, model: CompiledModel, findings: Findings):
        """Start without findings. findings: receives them."""
        self.model, self.findings = model, findings

    def left_out(
        self, kind: str, number: int, message: str, attribute: str = '', inner: str = ''
    ) -> None:
        """Name an element, or one of its attributes, that is not simulated."""
        place = self.model.place(kind, number, inner)
        self.findings.warning('not-simulated', place, message, attribute)

    def changed(self, kind: str, number: int, message: str, attribute: str = '') -> None:
        """Name an element that is simulated in another way."""
        place = self.model.place(kind, number)
        self.findings.warning('approximated', place, message, attribute)

    def refused(self, kind: str, number: int, message: str) -> None:
        """Refuse the file for an element that changes the whole motion."""
        self.findings.error('unsupported', self.model.place(kind, number), message)
