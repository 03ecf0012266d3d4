"""How a small model is asked: attend to the scene, act by rule, speak in plain turns, check each sentence."""
