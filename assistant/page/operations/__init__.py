"""Everything that the page and its API read and do: the one deciding place."""
