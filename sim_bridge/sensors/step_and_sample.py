"""
Steps of a world and device samples between them, in one call.

No Python runs between these steps: at 1 kHz, with cold caches, ten Python functions take ten times
as long as the steps for an arm.
"""

from __future__ import annotations

import math

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.memory import floats_at, ints_at, run_call
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_problem import EXCESS
from sim_bridge.engine.data.fields import START
from sim_bridge.engine.pipeline.step import DONE, NOT_CONVERGED
from sim_bridge.sensors.columns import (
    CODE,
    FAMILY,
    IS_SILENT,
    MOTION,
    NOISE,
    PERIOD,
    PLACE,
    RAYS,
    SAMPLE_AT,
    SETTINGS_AT,
    SETTINGS_SIZE,
    SIGN,
    SITE,
    SIZE,
    STEP_AT,
    TURNED_SITE,
)
from sim_bridge.sensors.measure import GREATEST, LEAST, RESOLUTION
from sim_bridge.sensors.measure import STEP as MEASURE_STEP
from sim_bridge.sensors.noise_kernels import add_noise, has_random_numbers, RECORD_SIZE, rounded
from sim_bridge.sensors.place_readings import NAVSAT, write_fix
from sim_bridge.sensors.readings import IMU, take_reading

# status from `advance`, beside those from `step`
NO_RANDOM_NUMBERS = 4  # a due device has used up its random numbers

# how a call begins: as a new call, after NO_ROOM or NOT_COMPILED, or after NO_RANDOM_NUMBERS
ANEW, GO_ON, SAMPLE = 0, 1, 2

# rows in `place`, the last with zeros if no device needs `measure`; words with the step count and
# the first result in the first two calls
STEP, STEP_SMOOTHLY, OBSERVE, MEASURE = 0, 1, 2, 3
STEPS, STEP_RESULT = 1, 2
SMOOTH_STEPS, SMOOTH_RESULT = 4, 5

# progress since the new call: steps taken, most pivots in a step, unconverged steps; then the
# status from the last call
TAKEN, PIVOTS, UNCONVERGED, STATUS = 0, 1, 2, 3
PROGRESS_SIZE = 4
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
    measure_inout: IntVector,
    progress_inout: IntVector,
    worst_inout: FloatVector,
    count_inout: IntVector,
    first: int,
    n: int,
    beginning: int,
):
    """
    Advance a world by n steps, and sample its devices whenever they are due.

    table, observer: handles for stepping and for observing. place: (4, 2) places for the calls
    above. step_inout, smooth_inout, measure_inout: words for the first, second and last call; the
    second is (0,) with second-order steps, the third if no device needs `measure`. device: (n, 16)
    see `columns`. gravity: as Model.gravity. site_row: (ns, 30) rows written by `observe`.
    progress_inout: (4,). worst_inout: (9,) see `note_worst`. count_inout: (1,) step count, written
    with the state, so that an interrupt of the caller cannot separate them. first: step count
    before the call. beginning: ANEW, GO_ON or SAMPLE.

    Returns (status, completed steps, whether the state equals the observed one).
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
                count_inout[0], progress_inout[STATUS] = at, NO_RANDOM_NUMBERS
                return NO_RANDOM_NUMBERS, at - first, is_observed
            if is_any_due(device, at):
                # nan differs from any wrench: this forces a full recomputation
                world.workspace(observer).pushes[:] = math.nan
                world.fields(observer).time[START] = float(at) * h
                run_call(place[OBSERVE, 0], place[OBSERVE, 1])
                is_observed = True
                if measure_inout.shape[0] > 0 and is_measure_due(device, at):
                    measure_inout[MEASURE_STEP] = at
                    run_call(place[MEASURE, 0], place[MEASURE, 1])
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
                count_inout[0], progress_inout[STATUS] = at, status
                return status, at - first, is_observed
        is_sampling = True
    note_worst(
        world.options(table),
        world.state(table),
        world.solution(table),
        progress_inout,
        worst_inout,
    )
    count_inout[0], progress_inout[STATUS] = end, DONE
    return DONE, n, is_observed


@kernel
def step_some(table, place, at, n, step_inout, smooth_inout, progress_inout):
    """
    Simulate up to n steps from a step on, at least one unless it fails.

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

    A silent device needs only its last sample before `end`.
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
    """Return whether any device is due after a step."""
    number = 0
    for k in range(device.shape[0]):
        number += step % device[k, PERIOD] == 0
    return number > 0


@kernel
def is_measure_due(device, step):
    """Return whether any device read by `measure` is due after a step."""
    number = 0
    for k in range(device.shape[0]):
        number += device[k, FAMILY] != MOTION and step % device[k, PERIOD] == 0
    return number > 0


@kernel
def can_sample(device, step, h):
    """Return whether there are random numbers for all due devices."""
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
    """Return the time since the last sample [s]; 0 for UNSAMPLED."""
    if sampled == UNSAMPLED:
        return 0.0
    return max((step - sampled) * h, 0.0)


@kernel
def sample(device, step, observer, gravity, site_row):
    """Write the samples for all due devices, with noise; `measure` has run before."""
    for k in range(device.shape[0]):
        if step % device[k, PERIOD] == 0:
            size = device[k, SIZE]
            values = floats_at(device[k, SAMPLE_AT], 2 * size)
            if device[k, FAMILY] == MOTION:
                take_reading(
                    device[k, CODE],
                    device[k, SITE],
                    device[k, TURNED_SITE],
                    float(device[k, SIGN]),
                    observer,
                    gravity,
                    site_row,
                    values,
                    size,
                )
                if device[k, CODE] == IMU:
                    keep_sign(values, size)
            values[:size] = values[size:]
            for column in NOISE:
                if device[k, column] != 0:
                    at = device[k, column + 1]
                    add_noise(
                        ints_at(device[k, column], RECORD_SIZE), values, size + at, values, at
                    )
            if device[k, FAMILY] == RAYS:
                rays = floats_at(device[k, SETTINGS_AT], device[k, SETTINGS_SIZE])
                keep_in_range(values, size, rays)
            if device[k, FAMILY] == PLACE and device[k, CODE] == NAVSAT:
                origin = floats_at(device[k, SETTINGS_AT], device[k, SETTINGS_SIZE])
                write_fix(origin, values, 0)
            ints_at(device[k, STEP_AT], 1)[0] = step


@kernel
def keep_in_range(values_inout, size, rays):
    """Round measured distances, and clamp them to the limits."""
    for k in range(size):
        distance = values_inout[k]
        if math.isfinite(distance):
            if rays[RESOLUTION] > 0.0:
                distance = rounded(distance, rays[RESOLUTION])
            values_inout[k] = min(max(distance, rays[LEAST]), rays[GREATEST])


@kernel
def keep_sign(values_inout, at):
    """Give the quaternion from a place on the sign nearest to the previous sample."""
    product = 0.0
    for k in range(4):
        product += values_inout[k] * values_inout[at + k]
    # before the first sample the product is nan, and the sign stays
    if product < 0.0:
        for k in range(4):
            values_inout[at + k] = -values_inout[at + k]


@kernel
def note_worst(options, state, solution, progress, worst_inout):
    """Count an unconverged call, and update the maxima: see `records.Worst`."""
    if progress[UNCONVERGED] != 0 or solution.residual[EXCESS] > 1.0:
        worst_inout[0] += 1.0
    worst_inout[1] = max(worst_inout[1], float(progress[PIVOTS]))
    contacts = state.contact_size[0]
    if contacts > 0:
        worst_inout[2] = max(worst_inout[2], float(contacts))
        for k in range(3):
            worst_inout[3 + k] = max(worst_inout[3 + k], float(solution.effort[k]))
    for k in range(3):
        worst_inout[6 + k] = max(worst_inout[6 + k], solution.residual[k])
