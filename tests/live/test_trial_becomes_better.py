"""The better model that comes behind the talk, through the real command at a terminal.

The talk is real. Child processes stand in for the fetches and for the model's servers: they write what those write,
end and are ended. Both fake servers are on loopback.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mud_assistant.llm.embedded.fetching.models import MODELS
from mud_assistant.llm.testing import FakeChat, RecordedRequest, Reply, Step, serve
from tests.live.command import Command, reactor, start

#: The command with stand-ins for its child processes, on a machine that has enough of everything.
COMMAND = """
import sys
from pathlib import Path
from mud_assistant.assistant.models import offer
from mud_assistant.llm.embedded.supervisor import Commands
here = Path(__file__).parent
children = Commands((sys.executable, str(here / "fetch.py")), (sys.executable, str(here / "child.py")))
Commands.of = classmethod(lambda *_, **__: children)
offer.free_bytes, offer.usable_cores = lambda: 8_000_000_000, lambda: 2
from mud_assistant.assistant.__main__ import main
raise SystemExit(main())
"""
#: It waits until the test lets it through, and is as large as the real file without a byte on the disk.
FETCH = """
import json, os, sys, time
from pathlib import Path
name = sys.argv[sys.argv.index("--model-name") + 1]
if name == "sentences":
    print(json.dumps({"error": "no package index"}), flush=True)
    sys.exit(1)
file, size = {"small": (os.environ["SMALL"], 9), "better": (os.environ["BETTER"], int(os.environ["SIZE"]))}[name]
path = Path(sys.argv[sys.argv.index("--data-dir") + 1]) / file
while name == "better" and not Path(os.environ["GATE"]).exists():
    time.sleep(0.05)
path.parent.mkdir(parents=True, exist_ok=True)
with path.open("wb") as written:
    written.truncate(size)
print(json.dumps({"model": str(path)}), flush=True)
sys.stdin.read()
"""
CHILD = """
import json, os, sys
from pathlib import Path
model = Path(sys.argv[sys.argv.index("--model") + 1]).stem
url = os.environ["URL_BETTER" if "1.5b" in model else "URL_SMALL"]
print(json.dumps({"url": url, "model": model, "own_template": True}), flush=True)
sys.stdin.read()
"""


def answering(name: str) -> FakeChat:
    def answer(_: RecordedRequest) -> Step:
        return Reply(text=f"The {name} model is glad of it.")

    return FakeChat(reactor, answer)


async def test_a_talk_at_a_terminal_goes_on_with_the_better_model_and_ends_cleanly(tmp_path: Path) -> None:
    for name, text in (("command", COMMAND), ("fetch", FETCH), ("child", CHILD)):
        (tmp_path / f"{name}.py").write_text(text)
    async with serve(answering("small"), reactor) as small, serve(answering("better"), reactor) as better:
        command = talk(tmp_path, small, better)
        keys: Any = command.transport
        await command.saw("Qwen2.5-Coder-1.5B-Instruct Q4_K_M is being")
        keys.write(b"Sage, who built the mill?\r")
        await command.saw("The small model is glad of it.")
        (tmp_path / "gate").touch()
        await command.saw("Sage has a better model now")
        keys.write(b"Sage, who burned it?\r")
        await command.saw("The better model is glad of it.")
        keys.write(b"/quit\r")
        result = await command.ended
    assert result.status == 0, result.out
    assert result.out.count("has a better model now") == 1
    assert "all-MiniLM-L6-v2 Q8_0 could not be fetched yet" in result.out


def talk(folder: Path, small: str, better: str) -> Command:
    files = {name.upper(): MODELS[name].file_name for name in ("small", "better")}
    environment = {
        **files,
        "SIZE": str(MODELS["better"].size_bytes),
        "GATE": str(folder / "gate"),
        "URL_SMALL": small,
        "URL_BETTER": better,
        "XDG_DATA_HOME": str(folder / "data"),
        "TERM": "xterm",
        "MUD_ASSISTANT_FETCH_BETTER": "yes",
        "PYTHONPATH": os.pathsep.join((str(folder), str(Path.cwd()), os.environ.get("PYTHONPATH", ""))),
    }
    arguments = ("trial", "--provider", "embedded")
    return start(*arguments, environment=environment, folder=str(folder), terminal=True, module="command")
