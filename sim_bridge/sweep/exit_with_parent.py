"""Program that runs a command, and kills its process group once its standard input ends."""

import os
import signal
import subprocess
import sys
import threading

# tells this package's controllers to end with their standard input; here it is this program's own
_OWN = 'SIM_BRIDGE_ENDS_WITH_STDIN'

# exit code for a missing command, as in shells
_NOT_FOUND = 127


def main(words: list[str]) -> int:
    """Run a command; return its exit code, or 128 plus the signal number that ended it."""
    environment = {name: value for name, value in os.environ.items() if name != _OWN}
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment)
    except OSError as err:
        print(f'{words[0]} cannot be started: {err.strerror}', file=sys.stderr)
        return _NOT_FOUND

    def hold() -> None:
        while os.read(0, 1024):
            pass
        os.killpg(os.getpgid(0), signal.SIGKILL)

    threading.Thread(target=hold, daemon=True).start()
    # pass Ctrl-C and SIGTERM to the command, and wait for it
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: process.send_signal(number))
    code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
