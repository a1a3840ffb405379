"""
Reuse of contact rows while nothing moves.

If the contacts equal the last step's (see `collision.broad.still`), all bodies have the same
poses, bit by bit. If their trees' factors and the contact laws are equal as well, the rows are
unchanged.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.data.collision_scratch import PairCount
from sim_bridge.engine.data.contact_points import COUNT
from sim_bridge.engine.data.contact_problem import Row
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.dynamics.whitening import is_free

# columns of Rows.kept_law
_ROWS, _FRICTION, _SOFTNESS = 0, 1, 7


@kernel
def are_rows_kept(ws, contacts, laws, rows, counts):
    """Return whether the rows still belong to the contacts; counts: CollisionScratch.counts."""
    if rows.of_search[0] == 0 or rows.of_search[0] != counts[PairCount.SEARCHES]:
        return False
    for body in range(ws.kind.shape[0]):
        kind = ws.kind[body]
        if rows.kept_kind[body] != kind:
            return False
        if has_axis(kind):
            for k in range(ws.joint_factor.shape[1]):
                if rows.kept_factor[body, k] != ws.joint_factor[body, k]:
                    return False
        elif is_free(kind):
            for k in range(ws.articulated.shape[1]):
                if rows.kept_factor[body, k] != ws.articulated[body, k]:
                    return False
    for contact in range(contacts.size[COUNT]):
        kept = rows.kept_law[contact]
        if kept[_ROWS] != laws.rows[contact]:
            return False
        for k in range(6):
            if kept[_FRICTION + k] != laws.frame[contact, 3 * Row.TANGENT + k]:
                return False
        for k in range(3):
            if kept[_SOFTNESS + k] != laws.softness[contact, k]:
                return False
    return True


@kernel
def keep_rows_of(ws, contacts, laws, rows, counts):
    """Record the row inputs if nothing moves; counts: CollisionScratch.counts."""
    if counts[PairCount.IS_STILL] == 0:
        rows.of_search[0] = 0
        return
    rows.of_search[0] = counts[PairCount.SEARCHES]
    for body in range(ws.kind.shape[0]):
        kind = ws.kind[body]
        rows.kept_kind[body] = kind
        if has_axis(kind):
            for k in range(ws.joint_factor.shape[1]):
                rows.kept_factor[body, k] = ws.joint_factor[body, k]
        elif is_free(kind):
            for k in range(ws.articulated.shape[1]):
                rows.kept_factor[body, k] = ws.articulated[body, k]
    for contact in range(contacts.size[COUNT]):
        kept = rows.kept_law[contact]
        kept[_ROWS] = laws.rows[contact]
        for k in range(6):
            kept[_FRICTION + k] = laws.frame[contact, 3 * Row.TANGENT + k]
        for k in range(3):
            kept[_SOFTNESS + k] = laws.softness[contact, k]
