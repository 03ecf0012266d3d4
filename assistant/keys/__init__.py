"""Keys by reference: where they are kept, what they are bound to, and how they stay out of texts."""
