"""What can go wrong with an answer, alone or combined, by name or planned; `resilience.testing` exports the names."""
