"""`python -m sim_bridge` is the command `sim_bridge`."""

import sys

from sim_bridge.foundation.early_signals import quit_command_on_signals

# before the imports below
quit_command_on_signals()

from sim_bridge.cli.main import main  # noqa: E402

# messages begin with the name of the program, and this is the one the user knows
sys.argv[0] = 'sim_bridge'
sys.exit(main())
