"""What a character does of itself: presence, days, impulses, and the goals that it has promised."""
