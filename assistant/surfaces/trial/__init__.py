"""`mud-assistant trial`: lets a visitor talk with an assistant in a small place, in a terminal."""
