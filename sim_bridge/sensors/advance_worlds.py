"""
Steps and samples of many similar worlds, one after the other, in one call.

The calls for one world find its arrays through words in memory: handle tables and call arguments.
Each array that differs between worlds is a row in a common array. Before a world advances, the
words are set to its rows.
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

# columns of `rows`: address of a word, address of the first world's row, bytes from row to row
WORD, FIRST_ROW, STRIDE = range(3)
ROWS_SIZE = 3
# columns of `task`: present step number, steps to take, how the call begins, status from `advance`
STEP, LEFT, BEGINNING, STATUS = range(4)
TASK_SIZE = 4
# status of a world whose call is about to begin or to continue
WAITING = -1


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
    Advance worlds by their remaining steps.

    place, words_inout, first, result: as in `simulation.stepper.StepperCall`, for a call to
    `step_and_sample.advance`. rows: (m, 3) see the columns. which: (k,) world numbers.
    task_inout: (n, 4) see the columns, a row for each world; the status tells why a call ended
    early.
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
    Observe worlds in their present states: write the rows for their sites.

    observer: handle in the call to `observe`. place: address pair for this call. rows, which,
    task: as in `advance_worlds`. time_step: [s].
    """
    for k in range(which.shape[0]):
        turn_to(rows, which[k])
        # nan differs from any wrench: this forces a full recomputation
        world_table.workspace(observer).pushes[:] = math.nan
        world_table.fields(observer).time[START] = float(task[which[k], STEP]) * time_step
        run_call(place[0], place[1])


@kernel
def turn_to(rows, world):
    """Point the calls to the rows of a world."""
    for row in range(rows.shape[0]):
        ints_at(rows[row, WORD], 1)[0] = rows[row, FIRST_ROW] + world * rows[row, STRIDE]
