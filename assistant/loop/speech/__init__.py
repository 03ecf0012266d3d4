"""What of an answer is said, and how: first sentence, plain text, manner, repeats, discretion."""
