"""Recording time: present position and events."""

from __future__ import annotations

from typing import Any

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Structure
from sim_bridge.page.widgets import in_order, show_value

_TIME = NUMBERS.index('time')
_SHOWN_S = 1.0  # how long a mark is shown [s]
_MOST_SHOWN = 5
_NONE = '—'
_SPECIAL = str.maketrans({each: f'\\{each}' for each in '\\`*_{}[]<>#|~&'})


class TapeLayer(PlainLayer):
    """Controls for a recording: seek bar, marks, recent events. Keys: Page Up and Page Down."""

    def __init__(self, context: Context):
        """Add the widgets, hidden without a recording."""
        super().__init__(context)
        gui = self.server.gui
        self._marks: list[tuple[float, str]] = []
        self._now = 0.0
        self._has_keys = False
        with context.run:
            self._bar = gui.add_slider('Time [s]', 0.0, 1.0, 0.001, 0.0, visible=False)
            self._chosen = gui.add_dropdown('Go to', (_NONE,), visible=False)
            self._before = gui.add_button('Mark before', hint='Page Up', visible=False)
            self._next = gui.add_button('Next mark', hint='Page Down', visible=False)
            self._said = gui.add_markdown('')
        self._bar.on_update(in_order(self._seek))
        self._chosen.on_update(in_order(self._choose))
        self._before.on_click(in_order(lambda _: self._jump(-1)))
        self._next.on_click(in_order(lambda _: self._jump(1)))

    def show(self, structure: Structure) -> None:
        """Show a recording's time and marks."""
        tape = structure.tape
        for widget in (self._bar, self._chosen, self._before, self._next):
            widget.visible = tape is not None
        if tape is None:
            return
        if not self._has_keys:
            # added late: without a recording they would be listed as commands without effect
            self._has_keys = True
            gui = self.server.gui
            gui.add_command('Mark before', hotkey='pageup').on_trigger(
                in_order(lambda _: self._jump(-1))
            )
            gui.add_command('Next mark', hotkey='pagedown').on_trigger(
                in_order(lambda _: self._jump(1))
            )
        self._bar.min, self._bar.max = tape.begin, max(tape.end, tape.begin + 1e-3)
        self._marks = [(mark.time, f'{mark.kind}: {mark.text}') for mark in tape.marks]
        self._chosen.options = (
            _NONE,
            *(
                f'{number}: {time:.3f} s {text}'
                for number, (time, text) in enumerate(self._marks, 1)
            ),
        )

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the time, and the events just before it."""
        self._now = float(frame.numbers[_TIME])
        show_value(self.server, self._bar, min(max(self._now, self._bar.min), self._bar.max))
        shown = [
            f'- {time:.3f} s {text.translate(_SPECIAL)}'
            for time, text in self._marks
            if time <= self._now < time + _SHOWN_S
        ]
        content = '\n'.join(shown[-_MOST_SHOWN:])
        if content != self._said.content:
            self._said.content = content

    def _seek(self, event: Any) -> None:
        # without a client, this layer itself set the value
        if event.client is not None:
            self.ask('seek', time=float(self._bar.value))

    def _choose(self, event: Any) -> None:
        number = self._chosen.value.partition(':')[0]
        if event.client is not None and number.isdigit():
            self.ask('seek', time=self._marks[int(number) - 1][0])

    def _jump(self, way: int) -> None:
        """Go to the next mark, or the previous one."""
        times = sorted({time for time, _ in self._marks}, reverse=way < 0)
        found = next((time for time in times if way * (time - self._now) > 2e-3), None)
        if found is not None:
            self.ask('seek', time=found)
