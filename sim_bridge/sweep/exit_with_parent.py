"""A program that runs a command, and kills its whole group once its standard input ends."""

import os
import signal
import subprocess
import sys
import threading

# says to controllers of this package that they end with their standard input, which is this one's
_OWN = 'SIM_BRIDGE_ENDS_WITH_STDIN'

# as of shells
_NOT_FOUND = 127


def main(words: list[str]) -> int:
    """Run a command; return its exit code, 128 and the signal's number where one ended it."""
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
    # Ctrl-C and its kin are for the command, which this waits for
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: process.send_signal(number))
    code = process.wait()
    return code if code >= 0 else 128 - code


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
