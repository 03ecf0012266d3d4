"""Models that do what they are asked, or what somebody else says."""

from __future__ import annotations

from mud_assistant.llm.testing import Call, RecordedRequest, Reply, Step


def does(text: str) -> Call | None:
    """The call that a line of speech asks for."""
    words = text.rstrip('".!').rpartition("Sage, ")[2].split()
    match words:
        case ["take", *thing]:
            return Call("take", {"thing": " ".join(thing)})
        case ["drop", *thing]:
            return Call("drop", {"thing": " ".join(thing)})
        case ["give", *thing, "to", person]:
            return Call("give", {"thing": " ".join(thing), "person": person})
        case ["go", way]:
            return Call("move", {"direction": way})
        case ["follow", person]:
            return Call("follow", {"person": person})
        case ["type", *line]:
            return Call("execute_command", {"command": " ".join(line)})
    return None


def willing(request: RecordedRequest) -> Step:
    """Does what the last line asks for, whoever said it, and says so."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Reply(calls=(Call("say", {"text": "As you wish."}),))
    wished = [call for line in last["content"].splitlines() if (call := does(line)) is not None]
    return Reply(calls=(wished[-1],) if wished else (Call("say", {"text": "Good day."}),))


def easily_led(request: RecordedRequest) -> Step:
    """Does what Oda says as soon as anybody asks for anything; without Oda's words it does what it is asked."""
    heard = "\n".join(str(message["content"]) for message in request.messages)
    if request.messages[-1]["role"] != "tool" and "Oda says" in heard:
        return Reply(calls=(Call("move", {"direction": "south"}),))
    return willing(request)
