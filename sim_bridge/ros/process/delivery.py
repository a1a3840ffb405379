"""Answers that are given right before who gives them is destroyed."""

from __future__ import annotations

import time

# Without a wait 4 of 100 answers were lost between busy processes, with half of this none of 60.
_DELIVERY_S = 0.1


def await_delivery() -> None:
    """
    Let what services and actions answered last arrive, before they are destroyed.

    What clients have not taken in by then goes with the service, and the middleware does not tell
    of responses, as it does of messages, whether they have arrived.
    """
    time.sleep(_DELIVERY_S)
