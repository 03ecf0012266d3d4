"""`mud-assistant trial`: a conversation with an assistant in a small place, in a terminal."""
