"""What every stage does around its work on a unit: skip what is done, mark the attempt, report, never raise to Ray."""

import os
import socket
import traceback
from collections.abc import Callable
from typing import Any

from jobs.ledger import Ledger, Outcome, Receipt

Row = dict[str, Any]
"""What travels through Ray: the unit's name and a few numbers."""

FAILED = "failed"
SKIPPED = "skipped"


def worker_name() -> str:
    """Host and process, for attempt markers."""
    return f"{socket.gethostname()}:{os.getpid()}"


def run_unit(ledger: Ledger, unit: str, work: Callable[[int], Receipt], *, alone: bool = True) -> Row:
    """Do a unit's work unless it is done or quarantined.

    An error of the work ends here as a row that says `failed`: raised to Ray it would end the whole job, and the other
    units would be lost with it. It is not swallowed: the driver counts it against the error budget and prints it.
    A worker that dies leaves its attempt marker, which is what quarantine counts.

    Args:
        ledger: Of the stage.
        unit: Its name.
        work: Does it; gets the attempt's number, gives the receipt to commit.
        alone: Whether this process works on nothing else meanwhile.
    """
    receipt = ledger.receipt(unit)
    if receipt is not None:
        return _row(unit, SKIPPED if receipt.outcome is Outcome.DONE else receipt.outcome.value, receipt)
    attempt = ledger.begin(unit, worker_name(), alone=alone)
    if attempt is None:
        return _row(unit, Outcome.QUARANTINED.value, None)
    try:
        receipt = ledger.commit(work(attempt))
    except Exception as error:  # noqa: BLE001 - see above: any error of a unit is that unit's failure
        ledger.release(unit, attempt)
        return {
            **_row(unit, FAILED, None),
            "error": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc(),
        }
    return _row(unit, receipt.outcome.value, receipt)


def _row(unit: str, outcome: str, receipt: Receipt | None) -> Row:
    counts = receipt.counts if receipt else {}
    return {
        "unit": unit,
        "outcome": outcome,
        "tokens": counts.get("tokens", 0),
        "documents": counts.get("documents", 0),
        "error": "",
        "trace": "",
    }
