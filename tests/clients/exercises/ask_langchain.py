"""Asks each of the models that a file defines, LangChain's, as `models`. usage: ask_langchain.py FILE."""

from __future__ import annotations

import json
import runpy
import sys

for dialect, model in runpy.run_path(sys.argv[1])["models"].items():
    for how in ("plain", "streamed"):
        try:
            if how == "plain":
                text = model.invoke("Where is the well?").text
            else:
                text = "".join(piece.text for piece in model.stream("Where is the well?"))
        except Exception as error:
            text = repr(error)
        print(json.dumps({"dialect": dialect, "how": how, "text": text}))
