"""What calls may spend in a day: the ledger, the reservation of one call, and the writer that keeps it on disk."""

from mud_assistant.resilience.budget.ledger import AccountState, Ledger, Reservation
from mud_assistant.resilience.budget.reservation import CallReservation, LearnedCost
from mud_assistant.resilience.budget.shared import SharedLedger
from mud_assistant.resilience.budget.shared_writer import SharedWriter
from mud_assistant.resilience.budget.writer import Keep, LedgerWriter

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
