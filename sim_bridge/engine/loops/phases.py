"""The phases of the stage of loops: of a step, of an observation, and one of its own."""

# OBEY begins an evaluation of the accelerations; OBEY_MORE adds what more it takes after contacts
(
    PREPARE, BUILD, OBEY, OBEY_MORE, SWITCH, CLOSE, KEEP, BUILD_PRESENT, OBEY_PRESENT, ASSEMBLE,
) = range(10)
