"""Push by hand: a force on a link for some time."""

from __future__ import annotations

from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.records import LinkRecord, Structure
from sim_bridge.page.widgets import in_order, set_value


class PushLayer(PlainLayer):
    """Widgets for a push: link, force in world axes, duration. Hidden if nothing can be pushed."""

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._links: dict[str, LinkRecord] = {}
        with context.run:
            self._folder = gui.add_folder('Push a link', expand_by_default=False, visible=False)
        with self._folder:
            self._link = gui.add_dropdown('Link', ('—',))
            self._force = gui.add_vector3(
                'Force [N]', (10.0, 0.0, 0.0), step=1.0, hint='At its centre of mass, world axes'
            )
            self._seconds = gui.add_number(
                'For seconds',
                0.1,
                min=0.0,
                max=60.0,
                step=0.01,
                hint='Simulated time; 0: one step',
            )
            push = gui.add_button('Push')
        push.on_click(in_order(lambda _: self._push()))

    def show(self, structure: Structure) -> None:
        """List the movable links."""
        self._links = {
            f'{link.robot}/{link.name}': link
            for link in structure.links
            if link.is_movable and link.mass
        }
        before, names = self._link.value, tuple(self._links)
        self._link.options = names or ('—',)
        set_value(self._link, before if before in self._links else self._link.options[0])
        self._folder.visible = 'push' in structure.abilities and bool(names)

    def _push(self) -> None:
        link = self._links.get(self._link.value)
        if link is not None:
            self.ask(
                'push',
                robot=link.robot,
                link=link.name,
                force=list(self._force.value),
                seconds=float(self._seconds.value),
            )
