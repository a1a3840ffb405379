"""Play, pause, step, speed, reset, snapshots, and simulator messages."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Notice, Structure
from sim_bridge.page.widgets import any_decimals, in_order, plain, set_value, show_value

_TIME, _IS_PAUSED = NUMBERS.index('time'), NUMBERS.index('is_paused')
_SPEED = NUMBERS.index('wanted_speed')
_KEPT = 6  # messages
_NOTHING = '—'
_MARKS = {'error': '❌', 'warning': '⚠️'}
_NUMBER = re.compile(r'\d[\d.,]*')


class _Said(NamedTuple):
    """Shown message, with the number of messages that are equal apart from the numbers in them."""

    kind: str
    text: str
    times: int

    @property
    def what(self) -> tuple[str, str]:
        """Common part in these messages, without numbers."""
        return self.kind, _NUMBER.sub('#', self.text)

    def __str__(self) -> str:
        times = f' ({self.times} times)' if self.times > 1 else ''
        return f'{_MARKS[self.kind]} {plain(self.text)}{times}'


class TimeLayer(PlainLayer):
    """Time controls. Keys: space, right arrow, R."""

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._is_paused, self._wanted = False, 1.0
        self._said: list[_Said] = []
        with context.run:
            self._clock = gui.add_markdown('### —')
            self._hint = gui.add_markdown(
                'Ctrl (or Cmd) and drag pulls a link; drag alone turns the view', visible=False
            )
            self._play = gui.add_button('Pause', hint='Space')
            self._step = gui.add_button('Step', hint='Right arrow')
            self._count = gui.add_number('Steps at once', 1, min=1, step=1)
            self._speed = gui.add_number(
                'Speed', 1.0, min=0.0, step=0.1, hint='Simulated per real time; 0: unlimited'
            )
            self._reset = gui.add_button('Reset', hint='R')
            with gui.add_folder('Snapshots', expand_by_default=False) as self._snapshots:
                self._name = gui.add_text('Name', 'a')
                save = gui.add_button('Save')
                self._kept = gui.add_dropdown('Kept', (_NOTHING,))
                restore, self._forget = gui.add_button('Restore'), gui.add_button('Delete')
            self._messages = gui.add_markdown('')
        any_decimals(self._speed)
        self._play.on_click(in_order(lambda _: self._toggle()))
        self._step.on_click(in_order(lambda _: self._take_steps()))
        self._speed.on_update(in_order(self._set_speed))
        self._reset.on_click(in_order(lambda _: self.ask('reset')))
        save.on_click(in_order(lambda _: self.ask('save', name=self._name.value)))
        restore.on_click(in_order(lambda _: self._ask_of_kept('restore')))
        self._forget.on_click(in_order(lambda _: self._ask_of_kept('forget')))
        gui.add_command('Pause or play', hotkey='space').on_trigger(
            in_order(lambda _: self._toggle())
        )
        gui.add_command('Step', hotkey='arrowright').on_trigger(
            in_order(lambda _: self._take_steps())
        )
        gui.add_command('Reset', hotkey='R').on_trigger(in_order(lambda _: self.ask('reset')))

    def show(self, structure: Structure) -> None:
        """Show the controls that the simulator supports."""
        for widgets, ability in (
            ((self._play,), 'pause'),
            ((self._step, self._count), 'step'),
            ((self._speed,), 'speed'),
            ((self._reset,), 'reset'),
            ((self._snapshots,), 'save'),
            ((self._forget,), 'forget'),
        ):
            for widget in widgets:
                widget.visible = ability in structure.abilities
        self._hint.visible = 'drag' in structure.abilities

    def update(self, frame: Frame, poses: Poses) -> None:
        """Show the time, and speed changes by others."""
        self._clock.content = f'### {frame.numbers[_TIME]:.3f} s'
        is_paused = bool(frame.numbers[_IS_PAUSED])
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._play.label = 'Play' if is_paused else 'Pause'
        wanted = float(frame.numbers[_SPEED])
        if wanted != self._wanted:
            self._wanted = wanted
            show_value(self.server, self._speed, wanted)

    def notice(self, notice: Notice) -> None:
        """Show the last warnings and errors, and the snapshot list."""
        if notice.kind == 'snapshots':
            before = set(self._kept.options)
            self._kept.options = notice.values or (_NOTHING,)
            for name in notice.values:
                if name not in before:
                    set_value(self._kept, name)
        elif notice.kind in _MARKS:
            new = _Said(notice.kind, notice.text, 1)
            count = sum(each.times for each in self._said if each.what == new.what)
            others = [each for each in self._said if each.what != new.what]
            self._said = [new._replace(times=count + 1), *others][:_KEPT]
            self._messages.content = '\n\n'.join(map(str, self._said))

    def _toggle(self) -> None:
        self.ask('play' if self._is_paused else 'pause')

    def _set_speed(self, event: Any) -> None:
        # without a client, this layer itself set the value
        if event.client is not None:
            self.ask('speed', factor=float(self._speed.value))

    def _ask_of_kept(self, name: str) -> None:
        if self._kept.value != _NOTHING:
            self.ask(name, name=self._kept.value)

    def _take_steps(self) -> None:
        self.ask('step', steps=int(self._count.value))
