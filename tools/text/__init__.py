"""Text of models and players: made safe to show, unwrapped, limited, matched with names."""
