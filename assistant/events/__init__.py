"""What happens to an assistant: events it hears, ticks, and the outcomes of its runs."""
