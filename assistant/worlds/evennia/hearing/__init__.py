"""What a character hears, and whose words they are."""
