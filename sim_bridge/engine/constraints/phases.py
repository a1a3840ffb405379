"""The phases of the stage of loops: of a step, of an observation, and two of their own."""

# OBEY begins an evaluation of the accelerations; OBEY_MORE adds what more it takes after contacts
(
    PREPARE, BUILD, OBEY, OBEY_MORE, SWITCH, FOLLOW_SHIFT, CLOSE, KEEP, BUILD_PRESENT,
    OBEY_PRESENT, ASSEMBLE, BEGIN,
) = range(12)
