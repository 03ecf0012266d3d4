"""The programs that are tried, each with the lines of docs/gateway.md, and how it is kept to one question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from tests.clients.page import QUESTION, Lines
from tests.clients.upstreams import FILE

HERE = Path(__file__).parent
_EXERCISES, _MODULES = HERE / "exercises", HERE / "node/node_modules"
_ALONE = "--no-git --yes-always --no-pretty --analytics-disable --no-check-update --no-show-release-notes"
_CODEX = "--skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -c analytics.enabled=false </dev/null"


@dataclass(frozen=True)
class Trial:
    """A command line and what it tries. Without a dialect it reports on several, each a line of JSON."""

    client: str
    command: str
    dialect: str = ""
    how: str = ""
    #: Files that must be there, by their names in the folder of the trial.
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_task(self) -> bool:
        """Whether a file must have been written and read."""
        return self.how == "task"


def trials(lines: Lines, folder: Path) -> Iterator[Trial]:
    """Return what is tried in a folder, with the model that these lines name."""
    task = f"TASK in {folder}: write {FILE} and read it."
    yield from _scripts(lines, task)
    yield from _curl(lines)
    yield from _llm(lines)
    (aider,) = lines.commands("aider")
    for how, option in (("plain", "--no-stream"), ("streamed", "--stream")):
        yield Trial("aider", f"{aider} {_ALONE} {option} --message {quote(QUESTION)}", "chat", how)
    yield from _agents(lines, task)


def _scripts(lines: Lines, task: str) -> Iterator[Trial]:
    """Return the libraries: those of the page, and those that take nothing but an address."""
    where = f"{lines.address} {lines.model}"
    yield Trial("SDKs of the vendors", f"python {_EXERCISES}/ask_vendors.py {where}")
    yield Trial("pydantic-ai", f"python {_EXERCISES}/ask_pydantic_ai.py {where}")
    shown = {"shown.py": lines.block("LangChain", "python")}
    yield Trial("LangChain", f"python {_EXERCISES}/ask_langchain.py shown.py", files=shown)
    # A module looks for the packages it imports from its own place upwards.
    shown = {"shown.mjs": lines.block("Vercel AI SDK", "js"), "ask.mjs": (_EXERCISES / "ask_ai_sdk.mjs").read_text()}
    yield Trial("Vercel AI SDK", f"ln -sfn {_MODULES} node_modules && node ask.mjs {quote(task)}", files=shown)


def _curl(lines: Lines) -> Iterator[Trial]:
    """Return each endpoint as it is asked by hand."""
    for command in lines.commands("curl"):
        path = command.split(lines.address)[1].split()[0]
        yield Trial("curl", command, path.removeprefix("/v1"), "streamed" if " -sN " in command else "plain")


def _llm(lines: Lines) -> Iterator[Trial]:
    chat, ollama, claude = lines.commands("llm")
    files = {"llm/extra-openai-models.yaml": lines.block("llm", "yaml")}
    for dialect, command in (("chat", chat), ("ollama", ollama), ("messages", claude)):
        yield Trial("llm", f"{command} --no-stream", dialect, "plain", files)
        yield Trial("llm", command, dialect, "streamed", files)


def _agents(lines: Lines, task: str) -> Iterator[Trial]:
    """Return the programs with tools of their own. They always stream."""
    (opencode,), (codex,) = lines.commands("opencode"), lines.commands("codex")
    files = {"opencode.json": lines.block("opencode", "json")}
    for provider, dialect in (("mud", "chat"), ("mud-messages", "messages"), ("mud-responses", "responses")):
        command = opencode.replace(" mud/", f" {provider}/")
        yield Trial("opencode", command, dialect, "streamed", files)
        yield Trial("opencode", command.replace(QUESTION, task), dialect, "task", files)
    files = {"codex/config.toml": lines.block("codex", "toml")}
    yield Trial("codex", f"{codex} {_CODEX}", "responses", "streamed", files)
    yield Trial("codex", f"{codex.replace(QUESTION, task)} {_CODEX}", "responses", "task", files)
