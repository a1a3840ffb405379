"""The phases of the stage of contacts, in the order in which a step goes through them."""

PREPARE, BUILD, SOLVE, PROJECT_POSITIONS, KEEP = range(5)
