"""What an owner does with assistants, written once: each verb checks the right, does it, logs it and says what came.

operators.py     who does it, and which role they have (READ FIRST)
refused.py       why it was not done
approving.py     allow or refuse the exact call that was shown

The game's commands, the page with its API, and the trial call these and show the sentence. What differs between a game
and a file of settings is behind what the verb is handed.
"""
