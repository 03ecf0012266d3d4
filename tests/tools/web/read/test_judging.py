"""No URL leaves that was not judged."""

from __future__ import annotations

from mud_assistant.tools.web.errors import ErrorKind
from mud_assistant.tools.web.read.judging import JudgedReader
from tests.tools.web.scripted import Heard, ScriptedReader, error


def test_a_refused_url_never_reaches_the_reader() -> None:
    async def judge(url: str) -> None:
        if "10.0.0.1" in url:
            raise error(ErrorKind.POLICY)

    reader = ScriptedReader("tavily", "0123456789")
    judged = JudgedReader(reader, judge)
    assert Heard(judged.read_url("http://10.0.0.1/")).kind is ErrorKind.POLICY
    assert not reader.asked
    assert Heard(judged.read_url("https://e.org/", offset=2, max_length=3)).value.content == "234"
    assert judged.name == "tavily"
