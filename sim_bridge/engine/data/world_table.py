"""
All arrays in one world as one kernel argument.

The Python object owning the table keeps the arrays alive; see `compiler.argument_table`.
"""

from __future__ import annotations

from typing import Any, cast

from sim_bridge.compiler.argument_table import openers_of, tabulate
from sim_bridge.engine.data.collision_scratch import CollisionScratch
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.contact_points import Contacts
from sim_bridge.engine.data.contact_problem import (
    BodyPairs,
    Direct,
    Islands,
    LawRows,
    Laws,
    Response,
    Rows,
    Solution,
)
from sim_bridge.engine.data.fields import Fields
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.listening import Listening
from sim_bridge.engine.data.loops import Loops, LoopWork
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.parts import P
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.user_contacts import UserContacts
from sim_bridge.engine.data.workspace import Workspace

PARTS: tuple[type[tuple[Any, ...]], ...] = (
    Model,
    Options,
    State,
    Workspace,
    Geometry,
    ContactMaterials,
    CollisionScratch,
    Contacts,
    Laws,
    Islands,
    Rows,
    Solution,
    Response,
    Direct,
    BodyPairs,
    LawRows,
    Loops,
    LoopWork,
    Fields,
    Listening,
    UserContacts,
)

(
    model,
    options,
    state,
    workspace,
    geometry,
    contact_materials,
    collision,
    contacts,
    laws,
    islands,
    rows,
    solution,
    response,
    direct,
    body_pairs,
    law_rows,
    loops,
    loop_work,
    fields,
    listening,
    user_contacts,
) = openers_of(PARTS)


class Handle:
    """Addresses of a world's arrays; holds references to the arrays to keep them alive."""

    def __init__(self, *parts: tuple[Any, ...]) -> None:
        """
        Tabulate one part for each of PARTS, in their order; the arrays are used in place.

        Raises TypeError for another part, or for an array whose kind differs from its field's
        annotation.
        """
        kinds = tuple(type(part) for part in parts)
        if kinds != PARTS:
            raise TypeError(f'a handle is made of {PARTS}, not of {kinds}')
        self.parts: tuple[tuple[Any, ...], ...] = parts
        self.table = tabulate(parts)

    def part(self, kind: type[P]) -> P:
        """Return the part of the given kind, one of PARTS."""
        return cast(P, self.parts[PARTS.index(kind)])

    def replaced(self, *parts: tuple[Any, ...]) -> Handle:
        """Return a handle with the given parts replacing parts of the same kinds."""
        by_kind = dict(zip(PARTS, self.parts, strict=True))
        return Handle(*(by_kind | {type(part): part for part in parts}).values())
