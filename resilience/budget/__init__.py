"""What calls may spend in a day: the ledger, the reservation of one call, and the writer that keeps it on disk."""
