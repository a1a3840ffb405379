"""
Steps, and the samples that devices take between them, in one call.

Between two steps that matter to anybody nothing else runs: at 1 kHz, with caches that others have
filled meanwhile, ten functions of Python take ten times as long as the steps of an arm.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at, ints_at, run_call
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.fields import START
from sim_bridge.engine.pipeline.step import DONE, NOT_CONVERGED
from sim_bridge.sensors.columns import (
    IS_SILENT,
    KIND,
    NOISE,
    PERIOD,
    SAMPLE_AT,
    SCAN_AT,
    SCAN_SIZE,
    SIGN,
    SITE,
    SIZE,
    STEP_AT,
    TURNED_SITE,
)
from sim_bridge.sensors.noise_kernels import add_noise, has_random_numbers, RECORD_SIZE, rounded
from sim_bridge.sensors.readings import IMU, LIDAR, RANGE, take_reading
from sim_bridge.sensors.scan import GREATEST, LEAST, RESOLUTION, scans
from sim_bridge.sensors.scan import STEP as SCAN_STEP

# what `advance` returns first, beside what `step` does
NO_RANDOM_NUMBERS = 4  # the devices that are due have used up their random numbers

# how a call begins: anew, after NO_ROOM or NOT_COMPILED, or after NO_RANDOM_NUMBERS
ANEW, GO_ON, SAMPLE = 0, 1, 2

# rows of the places of calls, the last of zeros where nothing scans; the words of the first two
# that say how many steps to take, and where their results begin
STEP, STEP_SMOOTHLY, OBSERVE, SCAN = 0, 1, 2, 3
STEPS, STEP_RESULT = 1, 2
SMOOTH_STEPS, SMOOTH_RESULT = 4, 5

# progress: steps taken, most pivots in one, steps that did not converge; since a call began anew
TAKEN, PIVOTS, UNCONVERGED = 0, 1, 2
PROGRESS_SIZE = 3
WORST_SIZE = 9

UNSAMPLED = -1


@entry
def advance(
    table: Table,
    observer: Table,
    place: IntMatrix,
    device: IntMatrix,
    gravity: FloatVector,
    site_row: FloatMatrix,
    step_inout: IntVector,
    smooth_inout: IntVector,
    scan_inout: IntVector,
    progress_inout: IntVector,
    worst_inout: FloatVector,
    first: int,
    n: int,
    beginning: int,
):
    """
    Advance a world by n steps, and sample its devices whenever they are due.

    table, observer: handles to step and to observe with. place: (4, 2) of the calls above;
    step_inout, smooth_inout, scan_inout: the words of the first two and the last; the second (0,)
    where steps are of second order, the third where nothing scans. device: (n, 15) see `columns`.
    gravity: as Model.gravity. site_row: (ns, 30) what
    `observe` writes. progress_inout: (3,). worst_inout: (9,) see `note_worst`. first: number of
    the present step. beginning: ANEW, GO_ON or SAMPLE.

    Returns (status, steps completed, whether the state is as observed).
    """
    if beginning == ANEW:
        world.solution(table).residual[:] = 0.0
        progress_inout[:] = 0
    h = world.options(table).time_step
    at, end, is_observed = first, first + n, False
    is_sampling = beginning == SAMPLE
    while True:
        if is_sampling:
            if not can_sample(device, at, h):
                return NO_RANDOM_NUMBERS, at - first, is_observed
            if is_any_due(device, at):
                # unlike any wrench, so that everything is computed anew
                world.workspace(observer).pushes[:] = math.nan
                world.fields(observer).time[START] = float(at) * h
                run_call(place[OBSERVE, 0], place[OBSERVE, 1])
                is_observed = True
                if scan_inout.shape[0] > 0 and is_scan_due(device, at):
                    scan_inout[SCAN_STEP] = at
                    run_call(place[SCAN, 0], place[SCAN, 1])
                sample(device, at, observer, gravity, site_row)
        if at >= end:
            break
        stop, is_observed = next_stop(device, at, end), False
        while at < stop:
            status, done = step_some(
                table, place, at, stop - at, step_inout, smooth_inout, progress_inout
            )
            at += done
            if status != DONE and status != NOT_CONVERGED:
                return status, at - first, is_observed
        is_sampling = True
    note_worst(
        world.options(table),
        world.state(table),
        world.solution(table),
        progress_inout,
        worst_inout,
    )
    return DONE, n, is_observed


@kernel
def step_some(table, place, at, n, step_inout, smooth_inout, progress_inout):
    """
    Simulate up to n steps from a step on, at least one unless that fails.

    Returns the status and the count.
    """
    done, time = 0, world.fields(table).time
    h = world.options(table).time_step
    time[START] = float(at) * h
    if smooth_inout.shape[0] > 0:
        smooth_inout[SMOOTH_STEPS] = n
        run_call(place[STEP_SMOOTHLY, 0], place[STEP_SMOOTHLY, 1])
        done = smooth_inout[SMOOTH_RESULT]
        progress_inout[TAKEN] += done
        n = min(n - done, 1)
    if n == 0:
        return DONE, done
    time[START] = float(at + done) * h
    step_inout[STEPS] = n
    run_call(place[STEP, 0], place[STEP, 1])
    status, stepped = step_inout[STEP_RESULT], step_inout[STEP_RESULT + 1]
    progress_inout[TAKEN] += stepped
    progress_inout[PIVOTS] = max(progress_inout[PIVOTS], step_inout[STEP_RESULT + 2])
    if status == NOT_CONVERGED:
        progress_inout[UNCONVERGED] += 1
    return status, done + stepped


@kernel
def next_stop(device, now, end):
    """
    Return the next step, at most `end`, after which devices must be sampled.

    Of silent ones the last sample before `end` is enough.
    """
    stop = end
    if end - now > 1:
        for k in range(device.shape[0]):
            period = device[k, PERIOD]
            due = (now // period + 1) * period
            if device[k, IS_SILENT] != 0:
                due = max(due, end // period * period)
            stop = min(stop, due)
    return stop


@kernel
def is_any_due(device, step):
    """Return whether any device is to be sampled after a step."""
    number = 0
    for k in range(device.shape[0]):
        number += step % device[k, PERIOD] == 0
    return number > 0


@kernel
def is_scan_due(device, step):
    """Return whether a device that the other call measures is to be sampled after a step."""
    number = 0
    for k in range(device.shape[0]):
        number += scans(device[k, KIND]) and step % device[k, PERIOD] == 0
    return number > 0


@kernel
def can_sample(device, step, h):
    """Return whether there are random numbers for all devices that are due."""
    for k in range(device.shape[0]):
        if step % device[k, PERIOD] == 0:
            elapsed = elapsed_since(ints_at(device[k, STEP_AT], 1)[0], step, h)
            for column in NOISE:
                record = device[k, column]
                if record != 0 and not has_random_numbers(ints_at(record, RECORD_SIZE), elapsed):
                    return False
    return True


@kernel
def elapsed_since(sampled, step, h):
    """Return the time since the step of a sample [s]; 0 where there was none."""
    if sampled == UNSAMPLED:
        return 0.0
    return max((step - sampled) * h, 0.0)


@kernel
def sample(device, step, observer, gravity, site_row):
    """Write what all devices measure that are due, with their noise; scans have been written."""
    for k in range(device.shape[0]):
        if step % device[k, PERIOD] == 0:
            size = device[k, SIZE]
            values = floats_at(device[k, SAMPLE_AT], 2 * size)
            if not scans(device[k, KIND]):
                take_reading(
                    device[k, KIND],
                    device[k, SITE],
                    device[k, TURNED_SITE],
                    float(device[k, SIGN]),
                    observer,
                    gravity,
                    site_row,
                    values,
                    size,
                )
            if device[k, KIND] == IMU:
                keep_sign(values, size)
            values[:size] = values[size:]
            for column in NOISE:
                if device[k, column] != 0:
                    at = device[k, column + 1]
                    add_noise(
                        ints_at(device[k, column], RECORD_SIZE), values, size + at, values, at
                    )
            if device[k, KIND] == RANGE or device[k, KIND] == LIDAR:
                keep_in_range(values, size, floats_at(device[k, SCAN_AT], device[k, SCAN_SIZE]))
            ints_at(device[k, STEP_AT], 1)[0] = step


@kernel
def keep_in_range(values_inout, size, scan):
    """Round measured distances, and keep those with noise within the limits."""
    for k in range(size):
        distance = values_inout[k]
        if math.isfinite(distance):
            if scan[RESOLUTION] > 0.0:
                distance = rounded(distance, scan[RESOLUTION])
            values_inout[k] = min(max(distance, scan[LEAST]), scan[GREATEST])


@kernel
def keep_sign(values_inout, at):
    """Give the quaternion from a place on the sign that is nearest to the sample before."""
    product = 0.0
    for k in range(4):
        product += values_inout[k] * values_inout[at + k]
    # before the first sample the product is nan, and the sign stays
    if product < 0.0:
        for k in range(4):
            values_inout[at + k] = -values_inout[at + k]


@kernel
def note_worst(options, state, solution, progress, worst_inout):
    """Count a call that did not converge, and keep the greatest of each: see `records.Worst`."""
    if progress[UNCONVERGED] != 0 or solution.residual[0] > options.contact_tolerance:
        worst_inout[0] += 1.0
    worst_inout[1] = max(worst_inout[1], float(progress[PIVOTS]))
    contacts = state.contact_size[0]
    if contacts > 0:
        worst_inout[2] = max(worst_inout[2], float(contacts))
        for k in range(3):
            worst_inout[3 + k] = max(worst_inout[3 + k], float(solution.effort[k]))
    for k in range(3):
        worst_inout[6 + k] = max(worst_inout[6 + k], solution.residual[k])
