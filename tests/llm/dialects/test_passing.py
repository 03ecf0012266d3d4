"""What a request may hold that is passed on as it was sent; and that real clients send nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mud_assistant.llm.dialects.failures import FailureKind, RequestRefused
from mud_assistant.llm.dialects.passing import Passing

VENDOR, OWN = Passing(asks_own_server=False), Passing(asks_own_server=True)
RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "gateway" / "client-requests.jsonl"
ROWS = [orjson.loads(line) for line in RECORDED.read_bytes().splitlines()] if RECORDED.exists() else []
AT = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
    "/v1/messages/count_tokens": "messages",
    "/api/chat": "ollama",
}
ASKED = [row for row in ROWS if row["path"].partition("?")[0] in AT]
IMAGE = "data:image/png;base64,iVBORw0KGgo="


def refused(dialect: str, passing: Passing = VENDOR, **body: Any) -> str:
    """The field that is to blame; empty when the request passes."""
    try:
        passing.check(dialect, {"model": "wise", **body})
    except RequestRefused as error:
        failure = error.failure
    else:
        return ""
    assert failure.kind is FailureKind.UNSUPPORTED
    assert failure.message.startswith(failure.parameter)
    return failure.parameter


def content(*parts: Any) -> list[Any]:
    return [{"role": "user", "content": list(parts)}]


@pytest.mark.skipif(not ASKED, reason=f"no recordings at {RECORDED}")
@pytest.mark.parametrize("row", ASKED, ids=[f"{row['client'][:20]}-{row['path']}" for row in ASKED])
@pytest.mark.parametrize("passing", [VENDOR, OWN], ids=["vendor", "own"])
def test_every_recorded_client_passes(row: dict[str, Any], passing: Passing) -> None:
    body = row["body"] if isinstance(row["body"], dict) else orjson.loads(row["body"])
    passing.check(AT[row["path"].partition("?")[0]], body)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages", "ollama"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("models", ["openai/gpt-5"]),
        ("route", "fallback"),
        ("plugins", [{"id": "web"}]),
        ("provider", {"order": ["dear"]}),
        ("service_tier", "priority"),
        ("speed", "fast"),
        ("background", True),
        ("prompt", {"id": "pmpt_1"}),
        ("conversation", "conv_1"),
        ("container", "container_1"),
        ("preset", "mine"),
        ("chat_template", "{{ 7 * 7 }}"),
        ("brand_new", 1),
        ("MODEL", "dear"),
        ("Model", ""),
        ("mode\u212a", "dear"),
    ],
)
def test_what_may_cost_or_show_more_is_refused_by_name(dialect: str, name: str, value: Any) -> None:
    assert refused(dialect, **{name: value}) == name
    assert refused(dialect, Passing(frozenset({name})), **{name: value}) == ""
    with pytest.raises(RequestRefused, match=r"\[gateway\] forwarded_fields"):
        VENDOR.check(dialect, {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("service_tier", "default"), ("service_tier", "auto"), ("background", False), ("models", []), ("prompt", None)],
)
def test_what_asks_for_nothing_passes(name: str, value: Any) -> None:
    assert refused("chat", **{name: value}) == refused("responses", **{name: value}) == ""


ADDRESSES = [
    "http://127.0.0.1:8080/admin",
    "http://169.254.169.254/latest/meta-data/",
    "HTTP://[::1]/",
    "http://2130706433/",
    "http://router.lan/",
    "http://innocent.example.org/a.png",
    "file:///etc/passwd",
    " file:/etc/passwd",
    "/etc/passwd",
    "//10.0.0.1/share",
    "ftp://10.0.0.1/",
    "gopher://10.0.0.1/",
]
PARTS: dict[str, Any] = {
    "chat": [
        lambda url: {"messages": content({"type": "image_url", "image_url": {"url": url}})},
        lambda url: {"messages": content({"type": "image_url", "image_url": url})},
        lambda url: {"messages": content({"type": "image_url", "Image_URL": {"URL": url}})},
        lambda url: {"messages": content({"type": "video_url", "video_url": {"url": url}})},
        lambda url: {"messages": content({"type": "audio_url", "audio_url": {"url": url}})},
        lambda url: {"messages": [{"role": "tool", "content": [{"type": "image_url", "image_url": {"url": url}}]}]},
    ],
    "responses": [
        lambda url: {"input": content({"type": "input_image", "image_url": url})},
        lambda url: {"input": content({"type": "input_file", "file_url": url})},
        lambda url: {
            "input": [{"type": "function_call_output", "output": [{"type": "input_image", "image_url": url}]}]
        },
        lambda url: {"tools": [{"type": "mcp", "server_label": "x", "server_url": url}]},
    ],
    "messages": [
        lambda url: {"messages": content({"type": "image", "source": {"type": "url", "url": url}})},
        lambda url: {"messages": content({"type": "document", "source": {"type": "url", "url": url}})},
        lambda url: {
            "messages": content(
                {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": url}}]}
            )
        },
        lambda url: {"mcp_servers": [{"type": "url", "url": url, "name": "x"}]},
    ],
}
MADE = [(dialect, part) for dialect, parts in PARTS.items() for part in parts]


@pytest.mark.parametrize("url", ADDRESSES)
@pytest.mark.parametrize(("dialect", "part"), MADE)
def test_a_server_of_the_owner_s_is_sent_to_no_address(dialect: str, part: Any, url: str) -> None:
    assert refused(dialect, OWN, **part(url))
    assert not refused(dialect, VENDOR, **part(url))
    assert not refused(dialect, OWN, **part(IMAGE))
    assert not refused(dialect, OWN, **part(f"  {IMAGE.replace('data', 'DATA')}"))


def test_an_image_in_a_member_for_bytes_is_no_address_either() -> None:
    for part in (
        {"type": "file", "file": {"file_data": "file:///etc/passwd"}},
        {"type": "input_audio", "input_audio": {"data": "http://10.0.0.1/"}},
        {"type": "image", "source": {"type": "base64", "data": "http://10.0.0.1/"}},
    ):
        assert refused("chat", OWN, messages=content(part))
    assert refused("ollama", OWN, messages=[{"role": "user", "content": "", "images": ["http://10.0.0.1/"]}])
    assert not refused("ollama", OWN, messages=[{"role": "user", "content": "", "images": ["/9j/4AAQ"]}])
    assert not refused("chat", OWN, messages=content({"type": "file", "file": {"file_data": IMAGE, "filename": "a:b"}}))


def test_the_owner_may_let_addresses_pass() -> None:
    allowed = Passing(frozenset({"image_url"}))
    assert not refused("chat", allowed, messages=content({"type": "image_url", "image_url": {"url": ADDRESSES[0]}}))
    assert refused("chat", allowed, messages=content({"type": "video_url", "video_url": {"url": ADDRESSES[0]}}))


def test_words_arguments_and_schemas_may_hold_addresses() -> None:
    """They are followed by nobody but the client's own tools."""
    url = ADDRESSES[0]
    schema = {"type": "object", "properties": {"url": {"type": "string", "default": url}, "file_id": {"const": "a"}}}
    assert not refused(
        "chat",
        OWN,
        messages=[
            *content({"type": "text", "text": url}),
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": f'{{"url":"{url}"}}'}}],
            },
            {"role": "tool", "tool_call_id": "a", "content": url},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}],
        response_format={"type": "json_schema", "json_schema": {"schema": schema}},
    )
    assert not refused(
        "messages",
        OWN,
        messages=[
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"url": url}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": url}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "web_search_tool_result", "content": [{"type": "web_search_result", "url": url}]},
                    {"type": "text", "text": "so", "citations": [{"type": "web_search_result_location", "url": url}]},
                ],
            },
        ],
        tools=[{"name": "f", "input_schema": schema}],
    )
    assert not refused(
        "responses", OWN, input=[{"type": "function_call", "call_id": "a", "name": "f", "arguments": url}]
    )


@pytest.mark.parametrize(
    ("dialect", "body", "field"),
    [
        ("chat", {"messages": content({"type": "file", "file": {"file_id": "file-1"}})},
         "messages[0].content[0].file.file_id"),
        ("chat", {"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, "messages[0].audio"),
        ("responses", {"input": content({"type": "input_image", "file_id": "file-1"})}, "input[0].content[0].file_id"),
        ("responses", {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]}, "tools[0].vector_store_ids"),
        ("responses", {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]}, "tools[0].container"),
        ("responses", {"tools": [{"type": "mcp", "connector_id": "connector_gmail"}]}, "tools[0].connector_id"),
        ("messages", {"messages": content({"type": "image", "source": {"type": "file", "file_id": "f"}})},
         "messages[0].content[0].source.file_id"),
        ("chat", {"chat_template_kwargs": {"chat_template": "{{ 7 }}"}}, "chat_template_kwargs.chat_template"),
    ],
)  # fmt: skip
def test_what_is_kept_for_the_owner_s_account_is_refused(dialect: str, body: dict[str, Any], field: str) -> None:
    assert refused(dialect, VENDOR, **body) == field
    name = field.rpartition(".")[2]
    assert not refused(dialect, Passing(frozenset({name}), asks_own_server=False), **body)


def test_code_that_runs_in_a_container_of_its_own_passes() -> None:
    assert not refused("responses", tools=[{"type": "code_interpreter", "container": {"type": "auto"}}])
    assert not refused("chat", chat_template_kwargs={"enable_thinking": False})


def test_only_one_s_own_answers_are_gone_on_from() -> None:
    mine = Passing(knows={"resp_1", "msg_1", "rs_1"}.__contains__)
    assert not refused("responses", mine, previous_response_id="resp_1")
    assert refused("responses", mine, previous_response_id="resp_2") == "previous_response_id"
    said = {"type": "message", "id": "msg_2", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]}
    kinds: list[dict[str, Any]] = [{"type": "item_reference"}, {"type": None}, {}, {"type": "reasoning", "summary": []}]
    for kind in kinds:
        name = "rs" if kind.get("type") == "reasoning" else "msg"
        assert not refused("responses", mine, input=[{**kind, "id": f"{name}_1"}, said])
        assert refused("responses", mine, input=[said, {**kind, "id": f"{name}_2"}]) == "input[1].id"


@given(
    st.sampled_from(["chat", "responses", "messages", "ollama", "another"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab:/", max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["messages", "input", "content", "type", "url", "id", "audio", "x"]), inner
            )
        ),
        max_leaves=12,
    ),
)
def test_any_request_passes_or_is_refused_by_name(dialect: str, body: Any) -> None:
    refused(dialect, OWN, **(body if isinstance(body, dict) else {"messages": body}))
