"""The tables of a profile that a session reads: how one logs in, and by what the state of the game is known.

[login]   steps = [{ expect, sees, send, plain }]   what is typed when the game says what
          playing, new, wrong, refused              the character plays; is not known; wrong password; not let in
[prompt]  forms, marked                             the game's prompt; whether GA or EOR follows it
[pager]   prompts, leave                            what it shows between pages, and what leaves it
[states]  menu, question, editor, asleep, awake     what shows each of them
          usurped, removed, restart, immortal       what ends the session
          leave = { question, editor }              what leaves them
[manners] longest                                   bytes of a line
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mud_assistant.assistant.worlds.telnet.profiles.session_forms import (
    MOST_FORM,
    SessionFormError,
    compile_session_form,
    is_firm,
    starts_with,
)

_Text = Annotated[str, Field(min_length=1, max_length=MOST_FORM)]
_Forms = Annotated[tuple[_Text, ...], Field(max_length=40)]


class SessionTableError(ValueError):
    """A table of a profile that cannot be used; the sentence names the place and says why."""


class _Table(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, defer_build=True)


class LoginStep(_Table):
    """One step: `expect` is the line or prompt that it answers, and `sees` another line that has come as well.

    `send` may hold {name}, {account}, {password} and the holes of both. `plain` allows a password that is not hidden.
    """

    expect: _Text
    sees: str = Field(default="", max_length=MOST_FORM)
    send: str = Field(default="", max_length=MOST_FORM)
    plain: bool = False


class LoginTable(_Table):
    """How one logs in. Each step is taken at most once; the first that fits is."""

    steps: Annotated[tuple[LoginStep, ...], Field(max_length=20)] = ()
    playing: _Forms = ()
    new: _Forms = ()
    wrong: _Forms = ()
    refused: _Forms = ()


class PromptTable(_Table):
    """The prompts of somebody who plays. Where there are none, the first one is learned.

    `marked` is whether GA or EOR follows each, `always` whether one follows everything that the game shows.
    """

    forms: _Forms = ()
    marked: bool = False
    always: bool = False


class PagerTable(_Table):
    """What a pager shows, and the line that leaves it."""

    prompts: _Forms = ()
    leave: str = Field(default="", max_length=20)


class LeavingTable(_Table):
    """The lines that leave a question and an editor; empty where nothing does."""

    question: str = Field(default="", max_length=20)
    editor: str = Field(default="", max_length=20)


class StatesTable(_Table):
    """Lines and prompts that show a state of the game."""

    menu: _Forms = ()
    question: _Forms = ()
    editor: _Forms = ()
    asleep: _Forms = ()
    awake: _Forms = ()
    usurped: _Forms = ()
    removed: _Forms = ()
    restart: _Forms = ()
    immortal: _Forms = ()
    leave: LeavingTable = LeavingTable()


class MannersTable(_Table):
    """What a guest keeps to."""

    longest: int = Field(default=512, ge=20, le=4000)


class SessionTables(_Table):
    """The tables of a session."""

    login: LoginTable = LoginTable()
    prompt: PromptTable = PromptTable()
    pager: PagerTable = PagerTable()
    states: StatesTable = StatesTable()
    manners: MannersTable = MannersTable()


Patterns = tuple[re.Pattern[str], ...]


class SessionProfile:
    """The tables, compiled for one character."""

    def __init__(self, tables: SessionTables, name: str = "") -> None:
        self.tables = tables
        self._name = name
        login, states = tables.login, tables.states
        self.steps = tuple(
            (
                step,
                self._forms("login.steps", [step.expect]),
                self._forms("login.steps", [step.sees] if step.sees else []),
            )
            for step in login.steps
        )
        self.login: Mapping[str, Patterns] = {
            kind: self._forms(f"login.{kind}", getattr(login, kind)) for kind in ("playing", "new", "wrong", "refused")
        }
        self.states: Mapping[str, Patterns] = {
            kind: self._forms(f"states.{kind}", getattr(states, kind))
            for kind in StatesTable.model_fields
            if kind != "leave"
        }
        # Anybody may say anything behind their name. Only where no prompt tells what waits must lines alone tell it.
        self.shown: Mapping[str, Patterns] = {
            kind: self._forms(f"states.{kind}", filter(self._may_show, getattr(states, kind)))
            for kind in ("menu", "question", "editor", "asleep", "awake")
        }
        for kind in ("usurped", "removed", "restart", "immortal"):
            if loose := [form for form in getattr(states, kind) if not is_firm(form)]:
                raise SessionTableError(f"states.{kind}: {loose[0]!r} begins with a hole: anybody could say it")
        self.pagers = self._forms("pager.prompts", tables.pager.prompts)
        self.prompts = self._forms("prompt.forms", tables.prompt.forms)
        ending = [form for form in tables.pager.prompts if not form.rstrip().endswith("}")]
        try:
            #: What the feed takes off the beginning of a line, None where the game marks its prompts.
            self.split = None if tables.prompt.marked else starts_with((*tables.prompt.forms, *ending))
        except SessionFormError as error:
            raise SessionTableError(f"prompt.forms: {error}") from None

    def _may_show(self, form: str) -> bool:
        return is_firm(form) or not self.tables.prompt.forms

    def _forms(self, place: str, forms: Iterable[str]) -> Patterns:
        compiled = []
        for form in forms:
            try:
                compiled.append(compile_session_form(form, self._name))
            except SessionFormError as error:
                raise SessionTableError(f"{place}: {form!r}: {error}") from None
        return tuple(compiled)


# Any: tables as TOML gives them.
def read_session(tables: Mapping[str, Any], name: str = "") -> SessionProfile:
    """Return the session of a profile's tables, for the character of this name. Raises SessionTableError."""
    try:
        known = {field: tables[field] for field in SessionTables.model_fields if field in tables}
        return SessionProfile(SessionTables.model_validate(known), name)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise SessionTableError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
