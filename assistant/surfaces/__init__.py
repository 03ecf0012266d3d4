"""The programs for people: trial, game, setup, doctor, replay. Nothing below imports them."""
