"""What calls may spend in a day: the ledger, the reservation of one call, and the writer that keeps it on disk."""

from resilience.budget.ledger import AccountState, Ledger, Reservation
from resilience.budget.reservation import CallReservation, LearnedCost
from resilience.budget.shared import SharedLedger
from resilience.budget.shared_writer import SharedWriter
from resilience.budget.writer import Keep, LedgerWriter

__all__ = [
    "AccountState",
    "CallReservation",
    "Keep",
    "LearnedCost",
    "Ledger",
    "LedgerWriter",
    "Reservation",
    "SharedLedger",
    "SharedWriter",
]
