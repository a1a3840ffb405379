"""
Many worlds alike, advanced one after the other by one call.

The calls that advance one world find its arrays by words of memory, which tables of handles and
arguments hold. What differs between worlds has a row for each of them in a common array: before a
world advances, the words are set to its rows.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import ints_at, run_call
from sim_bridge.engine.data import world_table
from sim_bridge.engine.data.fields import START
from sim_bridge.engine.pipeline.step import DONE
from sim_bridge.sensors.step_and_sample import ANEW

# columns of `rows`: the address of a word, that of the first world's row, and bytes from row to
# row
WORD, FIRST_ROW, STRIDE = range(3)
ROWS_SIZE = 3
# columns of `task`: number of the present step, steps to take, how the call begins, what `advance`
# returned
STEP, LEFT, BEGINNING, STATUS = range(4)
TASK_SIZE = 4


@entry
def advance_worlds(
    place: IntVector,
    words_inout: IntVector,
    first: int,
    result: int,
    rows: IntMatrix,
    which: IntVector,
    task_inout: IntMatrix,
):
    """
    Advance worlds by the steps that are left to each.

    place, words_inout, first, result: as `simulation.stepper.StepperCall` has them, of a call of
    `step_and_sample.advance`. rows: (m, 3) see the columns. which: (k,) numbers of the worlds.
    task_inout: (n, 4) see the columns, a row for each world; where a call ends early, its status
    says why.
    """
    for k in range(which.shape[0]):
        world = which[k]
        turn_to(rows, world)
        words_inout[first] = task_inout[world, STEP]
        words_inout[first + 1] = task_inout[world, LEFT]
        words_inout[first + 2] = task_inout[world, BEGINNING]
        run_call(place[0], place[1])
        status, done = words_inout[result], words_inout[result + 1]
        task_inout[world, STEP] += done
        task_inout[world, LEFT] -= done
        task_inout[world, STATUS] = status
        if status == DONE:
            task_inout[world, BEGINNING] = ANEW


@entry
def observe_worlds(
    observer: Table,
    place: IntVector,
    rows: IntMatrix,
    which: IntVector,
    task: IntMatrix,
    time_step: float,
):
    """
    Observe worlds at their present states: write the rows of their sites.

    observer: the handle that the call of `observe` uses; place: of that call. rows, which, task:
    as of `advance_worlds`. time_step: [s].
    """
    for k in range(which.shape[0]):
        turn_to(rows, which[k])
        # unlike any wrench, so that everything is computed anew
        world_table.workspace(observer).pushes[:] = math.nan
        world_table.fields(observer).time[START] = float(task[which[k], STEP]) * time_step
        run_call(place[0], place[1])


@kernel
def turn_to(rows, world):
    """Point calls to the rows of a world."""
    for row in range(rows.shape[0]):
        ints_at(rows[row, WORD], 1)[0] = rows[row, FIRST_ROW] + world * rows[row, STRIDE]
