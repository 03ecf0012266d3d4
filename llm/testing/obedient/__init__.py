"""The worst possible model: it does whatever a marked goal in its input demands."""
