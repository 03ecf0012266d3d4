"""A model file of a hub: which one is meant, how it comes, and what is refused. The hub is on loopback."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetch import main
from mud_assistant.llm.embedded.fetching import hub_file
from mud_assistant.llm.embedded.fetching.hub_file import Hub, fetch_hub_file, kept_file, read_pin
from mud_assistant.llm.embedded.fetching.hub_name import kept_name, parse_hub_name
from mud_assistant.llm.embedded.fetching.opener import https_opener
from mud_assistant.llm.embedded.progress import Reporter
from tests.llm.embedded.fake_hub import REPOSITORY, FakeHub, hub_on_loopback, model_file

NAME = f"hf:{REPOSITORY}:Q4_K_M"
SECRET = "planted-key"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with hub_on_loopback() as told:
        yield told


def fetch(hub: FakeHub, folder: Path, name: str = NAME, token: str = "", said: io.StringIO | None = None) -> Path:
    environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": token}
    report = Reporter(said or io.StringIO(), iter(range(10**6)).__next__)
    there = Hub.of(environment, https_opener({}, loopback=True))
    return fetch_hub_file(parse_hub_name(name), folder, report, there)


def refusal(hub: FakeHub, folder: Path, name: str = NAME, token: str = "") -> str:
    with pytest.raises(SourceFailed) as caught:
        fetch(hub, folder, name, token)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("hf:Qwen/Qwen3-1.7B-GGUF:q4_k_m", "hf:Qwen/Qwen3-1.7B-GGUF:Q4_K_M"),
        ("hf:Qwen/Qwen3-1.7B-GGUF", "hf:Qwen/Qwen3-1.7B-GGUF:Q4_K_M"),
        ("hf:a/b:Some-File.gguf", "hf:a/b:Some-File.gguf"),
    ],
)
def test_a_name_is_read_as_it_is_written(text: str, shown: str, tmp_path: Path) -> None:
    name = parse_hub_name(text)
    assert str(name) == shown
    assert kept_name(name.folder(tmp_path), tmp_path) == shown


@pytest.mark.parametrize("text", ["hf:", "hf:a", "hf:a/b/c", "hf:a/..:Q4", "hf:../b:Q4", "hf:a/b:Q4/x", "hf:a/b c:Q4"])
def test_what_is_no_name_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="hf:OWNER/REPO:QUANT, such as hf:Qwen/"):
        parse_hub_name(text)


def test_the_file_comes_over_a_redirect_and_the_key_does_not_go_along(hub: FakeHub, tmp_path: Path) -> None:
    hub.token, said = SECRET, io.StringIO()
    path = fetch(hub, tmp_path, token=SECRET, said=said)
    assert path.read_bytes() == hub.files["Tiny-Q4_K_M.gguf"]
    assert hub.keys("hub") == {f"Bearer {SECRET}"}
    assert hub.keys("store") == {""}
    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    assert "the hub names the licence apache-2.0" in lines[0]["note"]
    assert {line["progress"] for line in lines[1:]} == {"download", "verify"}


def test_what_is_here_is_used_without_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    path = fetch(hub, tmp_path)
    hub.asked.clear()
    assert fetch(hub, tmp_path) == path
    assert hub.asked == []
    assert kept_file(parse_hub_name(NAME), tmp_path) == path


@pytest.mark.parametrize("dead", [False, True])
def test_a_broken_connection_goes_on_where_it_broke(hub: FakeHub, tmp_path: Path, dead: bool) -> None:
    hub.breaks = [4000, 0, 0, 0] if dead else [4000]
    if dead:
        assert "too early" in refusal(hub, tmp_path)
    path = fetch(hub, tmp_path)
    assert path.read_bytes() == hub.files["Tiny-Q4_K_M.gguf"]
    assert hub.asked[-1][2] == "bytes=4000-"


def test_the_first_use_pins_the_hash_also_where_the_hub_tells_none(hub: FakeHub, tmp_path: Path) -> None:
    hub.tells_hash = False
    path = fetch(hub, tmp_path)
    path.unlink()
    hub.files["Tiny-Q4_K_M.gguf"] = model_file("{{ other    }}")
    assert "SHA-256 differs" in refusal(hub, tmp_path)


def test_another_file_later_is_refused_with_what_to_do(hub: FakeHub, tmp_path: Path) -> None:
    path = fetch(hub, tmp_path)
    path.unlink()
    hub.files["Tiny-Q4_K_M.gguf"] = model_file(size=9_001)
    told = refusal(hub, tmp_path)
    assert "has another file as hf:tiny/Tiny-GGUF:Q4_K_M than the one that was used here first" in told
    assert f"delete {path.parent}" in told


def test_a_file_that_was_changed_here_is_fetched_again(hub: FakeHub, tmp_path: Path) -> None:
    path = fetch(hub, tmp_path)
    path.write_bytes(b"GGUF")
    assert fetch(hub, tmp_path).read_bytes() == hub.files["Tiny-Q4_K_M.gguf"]


def test_a_file_whose_hash_is_not_the_told_one_is_not_kept(hub: FakeHub, tmp_path: Path) -> None:
    hub.other_hash = "f" * 64
    assert "SHA-256 differs" in refusal(hub, tmp_path)
    assert read_pin(parse_hub_name(NAME).folder(tmp_path)) is None
    assert not list(tmp_path.rglob("*.gguf"))


@pytest.mark.parametrize(
    ("files", "name", "wanted"),
    [
        (["a-q4_k_m.gguf", "a-q8_0.gguf"], NAME, "a-q4_k_m.gguf"),
        (["a-UD-Q4_K_M.gguf", "a-Q4_K_M.gguf"], NAME, "a-Q4_K_M.gguf"),
        (["mmproj-a-Q4_K_M.gguf", "vision-a-Q4_K_M.gguf"], NAME, "vision-a-Q4_K_M.gguf"),
        (["Q4_K_M/a-Q4_K_M-00001-of-00001.gguf"], NAME, "a-Q4_K_M-00001-of-00001.gguf"),
        (["deep/One Name.gguf", "a-Q4_K_M.gguf"], f"hf:{REPOSITORY}:a-q4_k_m.gguf", "a-Q4_K_M.gguf"),
    ],
)
def test_the_file_of_the_quantization_is_found(
    hub: FakeHub, tmp_path: Path, files: list[str], name: str, wanted: str
) -> None:
    hub.files = {path: model_file(size=9_000 + number) for number, path in enumerate(files)}
    assert fetch(hub, tmp_path, name).name == wanted


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"a-Q8_0.gguf": b"", "a-IQ4_XS.gguf": b""}, "has no Q4_K_M; it has: IQ4_XS, Q8_0"),
        ({"model.safetensors": b"1"}, "holds no GGUF file"),
        ({"../a-Q4_K_M.gguf": b"1"}, "holds no GGUF file"),
        ({"a-Q4_K_M-00001-of-00003.gguf": b"1"}, "is cut into 3 files"),
        ({"a-Q4_K_M.gguf": b"<html>" * 9}, "is no GGUF file"),
        ({"a-Q4_K_M.gguf": model_file("")}, "has no chat template"),
        ({"a-Q4_K_M.gguf": b"GGUF" + bytes(90)}, "cannot be used: GGUF version 0"),
    ],
)
def test_what_cannot_be_used_is_refused(hub: FakeHub, tmp_path: Path, files: dict[str, bytes], told: str) -> None:
    hub.files = files
    assert told in refusal(hub, tmp_path)
    assert not list(tmp_path.rglob("*.gguf"))


def test_a_file_that_is_too_large_is_refused(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_file, "MAX_BYTES", 5_000)
    assert "the most that fits" in refusal(hub, tmp_path)


@pytest.mark.parametrize(
    ("refused", "token", "told"),
    [
        ((401, "GatedRepo"), "", "only to those who accepted its terms there: set HF_TOKEN"),
        ((403, "GatedRepo"), "wrong", "only to those who accepted its terms there: its key is refused"),
        ((401, ""), "wrong", "or wants a key for it: its key is refused"),
        ((404, "RepoNotFound"), "", "has no repository tiny/Tiny-GGUF"),
        ((503, ""), "", "answered HTTP 503"),
    ],
)
def test_what_the_hub_refuses_is_told(
    hub: FakeHub, tmp_path: Path, refused: tuple[int, str], token: str, told: str
) -> None:
    hub.token, hub.refusal = SECRET, refused
    sentence = refusal(hub, tmp_path, token=token)
    assert told in sentence
    assert "wrong" not in sentence


def test_a_repository_that_is_not_there_is_told(hub: FakeHub, tmp_path: Path) -> None:
    assert "has no repository no/such" in refusal(hub, tmp_path, "hf:no/such:Q4_K_M")


def test_a_redirect_to_a_place_without_https_is_refused(hub: FakeHub, tmp_path: Path) -> None:
    hub.moved_to = "http://files.example.org"
    assert "not HTTPS" in refusal(hub, tmp_path)


def test_a_hub_without_https_is_refused() -> None:
    with pytest.raises(SourceFailed, match="HF_ENDPOINT must be an https:// address"):
        Hub.of({"HF_ENDPOINT": "http://hub.example.org"}, https_opener({}, loopback=True))


def test_the_process_fetches_it(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("no_proxy", "*")
    assert main(["--data-dir", str(tmp_path), "--model-name", NAME]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["model"].endswith("Q4_K_M/Tiny-Q4_K_M.gguf")
