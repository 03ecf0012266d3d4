"""Counts tokens: an estimate for every model, exact tables where a provider's are public."""
