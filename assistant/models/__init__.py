"""The model at work: which one, with which key, for which server."""
