"""Phases of the loop stage: those of a step, those of an observation, and two independent ones."""

# OBEY begins an evaluation of the accelerations; OBEY_MORE adds what more it takes after contacts
(
    PREPARE, BUILD, OBEY, OBEY_MORE, SWITCH, FOLLOW_SHIFT, CLOSE, KEEP, BUILD_PRESENT,
    OBEY_PRESENT, ASSEMBLE, BEGIN,
) = range(12)
