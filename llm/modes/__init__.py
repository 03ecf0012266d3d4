"""How to ask one model: with native tools or in words, and what its answers taught about it."""
