"""The checks of what keeps an assistant from working, one sentence for each; the doctors show them."""
