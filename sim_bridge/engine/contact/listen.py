"""
Events for contact listeners, between detection and solution; compiled as a separate stage.

A pair touches if the last step left contacts between its geometries in the state; removed contacts
did not touch. Python is called only in steps with an event wanted by a listener.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.stage import call_stage, Stage
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.fields import CALLBACK, FAILED
from sim_bridge.engine.data.listening import CONTACT, ENDED, FIRST, IMPACT, SECOND, SEPARATION


def listen(table, phase):
    """Call the listeners, and remove contacts; return the number left, or FAILED."""
    contacts, state = world.contacts(table), world.state(table)
    own, geometry = world.listening(table), world.contacts(table).geometry
    count, before = contacts.size[COUNT], state.contact_size[COUNT]
    own.size[ENDED] = 0
    events, now, last = 0, 0, 0
    while now < count or last < before:
        order = 0
        if now == count:
            order = 1
        elif last == before:
            order = -1
        else:
            order = compare(geometry, now, state.contact_geometry, last)
        if order > 0:
            a, b = state.contact_geometry[last, 0], state.contact_geometry[last, 1]
            if is_wanted(own, a, b, SEPARATION):
                ended = own.size[ENDED]
                own.ended[ended, 0], own.ended[ended, 1] = a, b
                own.size[ENDED] = ended + 1
                events += 1
        else:
            event = CONTACT if order == 0 else IMPACT
            own.event[now] = 0
            if is_wanted(own, geometry[now, 0], geometry[now, 1], event):
                own.event[now] = event
                events += 1
            first = now
            now += 1
            while now < count and compare(geometry, now, geometry, first) == 0:
                own.event[now] = 0
                now += 1
        if order >= 0:
            first = last
            last += 1
            while (
                last < before
                and compare(state.contact_geometry, last, state.contact_geometry, first) == 0
            ):
                last += 1
    if events == 0:
        return count
    own.keep[:count] = 1
    if call_stage(own.call[CALLBACK], table, phase) < 0:
        return FAILED
    return remove(contacts, own.keep)


@kernel
def compare(one, at, other, place):
    """Compare two pairs; return -1, 0 or 1."""
    for side in range(2):
        if one[at, side] != other[place, side]:
            return -1 if one[at, side] < other[place, side] else 1
    return 0


@kernel
def is_wanted(own, a, b, event):
    """Return whether any listener wants an event on a pair."""
    for each in range(own.wanted.shape[0]):
        if own.wanted[each] & event != 0:
            one, other = own.side[each, a], own.side[each, b]
            if (one & FIRST != 0 and other & SECOND != 0) or (
                one & SECOND != 0 and other & FIRST != 0
            ):
                return True
    return False


@kernel
def remove(contacts, keep):
    """Remove the contacts whose `keep` is 0; return the number left."""
    left = 0
    for contact in range(contacts.size[COUNT]):
        if keep[contact] == 0:
            continue
        if left != contact:
            contacts.feature[left], contacts.gap[left] = (
                contacts.feature[contact],
                contacts.gap[contact],
            )
            for side in range(2):
                contacts.geometry[left, side] = contacts.geometry[contact, side]
            for k in range(3):
                contacts.point[left, k] = contacts.point[contact, k]
                contacts.normal[left, k] = contacts.normal[contact, k]
        left += 1
    contacts.size[COUNT] = left
    return left


LISTEN = Stage(listen)
