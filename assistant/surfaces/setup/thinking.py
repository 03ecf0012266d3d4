"""The questions about the model."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial

from msgspec import Struct
from pydantic import ValidationError
from twisted.internet.interfaces import IReactorTime

from mud_assistant.assistant.config.known_providers import (
    AUTO,
    EMBEDDED,
    about,
    has_model,
    is_hosted,
    known_names,
    left_behind,
    server_tools_of,
    special_settings,
    takes,
)
from mud_assistant.assistant.config.options import meanings
from mud_assistant.assistant.config.schema import ModelConfig
from mud_assistant.assistant.config.toml_edit import Value
from mud_assistant.assistant.errors import KeyReferenceError
from mud_assistant.assistant.keys.reference import KeySources, resolve_key
from mud_assistant.assistant.models.choose import LOOK_SECONDS
from mud_assistant.assistant.models.chosen import provider_of
from mud_assistant.assistant.models.offer import BETTER, SMALL
from mud_assistant.assistant.surfaces.setup.dialogue import Dialogue
from mud_assistant.assistant.surfaces.setup.keys import reference
from mud_assistant.assistant.surfaces.setup.writing import SettingsDraft
from mud_assistant.llm import LLMError, get_provider
from mud_assistant.llm.discover import offered_models
from mud_assistant.llm.embedded.errors import SourceFailed
from mud_assistant.llm.embedded.fetching.hub_file import Hub, kept_file
from mud_assistant.llm.embedded.fetching.hub_name import HubName, is_hub_name, parse_hub_name
from mud_assistant.llm.embedded.fetching.models import MODELS, default_data_dir
from mud_assistant.llm.embedded.fetching.opener import https_opener
from mud_assistant.llm.embedded.machine import measure_machine
from mud_assistant.resilience import Deadline, DeadlineExceeded, HttpExchange, origin_of

_SHOWN = 20
#: The answer that removes an option.
NONE = "none"
#: How many similar names are shown for an unknown one, and how similar they must be (difflib's ratio).
_CLOSEST, _LIKENESS = 3, 0.5


class ModelQuestions(Struct, frozen=True):
    """Asks for the model and its key."""

    dialogue: Dialogue
    draft: SettingsDraft
    exchange: HttpExchange
    clock: IReactorTime
    keys: KeySources

    async def ask(self) -> None:
        """Ask, and put the answers into the draft."""
        old, draft = self.draft.before.model, self.draft
        names = known_names()
        width = max(map(len, names))
        listed = "\n".join(f"  {name:<{width}}  {about(name)}" for name in names)
        self.dialogue.tell(f"Which model is to think?\n{listed}")
        name = await self.dialogue.choice("Provider", names, old.provider if old.provider in names else AUTO)
        for option in left_behind(name, special_settings()):
            draft.set("model", option, value=None)
        same = old if old.provider == name else ModelConfig(provider=name)
        draft.set("model", "provider", value=name)
        url = key = model = ""
        if name == AUTO:
            url, key, model = same.url, same.key, same.model
        elif name == EMBEDDED:
            model = await self._embedded(same.model)
        else:
            url, usual = await self._url(name, same.url), _usual(name)
            key = await self._key(name, same.key if same_server(url or usual, same.url or usual) else "")
            model = await self._model(ModelConfig(provider=name, url=url, model=same.model, key=key))
        draft.set("model", "url", value=url)
        draft.set("model", "key", value=key)
        draft.set("model", "model", value=model)

    async def more(self) -> None:
        """Ask for the options that only this provider takes. An empty answer keeps the proposed value."""
        name, special = str(self.draft.changes[("model", "provider")] or AUTO), special_settings()
        options = [option for option in ModelConfig.model_fields if option in special and takes(name, option)]
        if not options:
            self.dialogue.tell(f"  '{name}' has no options of its own; docs/settings.md has those of every model.")
        for option in options:
            await self._option(name, option)

    async def _option(self, name: str, option: str) -> None:
        """Ask for one option; "none" removes it."""
        known = server_tools_of(name) if option == "server_tools" else {}
        default = ModelConfig.model_fields[option].default
        before = self.draft.changes.get(("model", option), getattr(self.draft.before.model, option, default))
        if isinstance(before, Sequence) and any(not isinstance(part, str) for part in before):
            self.dialogue.tell(f"  model.{option} holds tables and stays as it is: change it in the file.")
            return

        def check(answer: str) -> Value | None:
            if answer in {"", NONE}:
                return None
            value: Value = answer
            if isinstance(default, tuple):
                value = tuple(answer.replace(",", " ").split())
            elif answer.isascii() and answer.lstrip("-").isdigit():
                value = int(answer)
            try:
                ModelConfig.model_validate({"provider": name, option: value})
            except ValidationError as error:
                raise ValueError(error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")) from None
            return value

        proposed = ", ".join(map(str, before)) if isinstance(before, tuple | list) else before
        choices = f" ({', '.join(known)}, {NONE})" if known else f" ({NONE}: not set)"
        self.dialogue.tell(f"  {meanings(ModelConfig)[option]}")
        shown = NONE if proposed in (None, "") else str(proposed)
        self.draft.set("model", option, value=await self.dialogue.checked(f"{option}{choices}", check, shown))

    async def _url(self, name: str, old: str) -> str:
        """Ask for the address; empty means the provider's usual one."""
        usual = _usual(name)
        answer = await self.dialogue.checked("Address of the server", checked_url, old or usual)
        return "" if answer == usual else answer

    async def _key(self, name: str, old: str) -> str:
        wants = f"Does the server want a key?{'' if old else ' Most of your own want none.'}"
        if not is_hosted(name) and not await self.dialogue.yes(wants, proposed=bool(old)):
            return ""
        return await reference(self.dialogue, self.draft, self.keys.secrets, name, old)

    async def _model(self, config: ModelConfig) -> str:
        """Ask for the model's name, with the server's list where it has one."""
        names = await self._offered(config)
        for number, name in enumerate(names[:_SHOWN], start=1):
            self.dialogue.tell(f"  {number:>2}  {name}")
        if len(names) > _SHOWN:
            self.dialogue.tell(f"  ... and {len(names) - _SHOWN} more")

        insisted: set[str] = set()

        def check(answer: str) -> str:
            if answer.isascii() and answer.isdigit() and 0 < int(answer) <= min(len(names), _SHOWN):
                return names[int(answer) - 1]
            if not answer:
                raise ValueError("the model's name is needed here")
            if answer.isdigit():
                raise ValueError("there is no model of this number")
            if names and not has_model(names, answer) and answer not in insisted:
                insisted.add(answer)
                raise ValueError(unlisted(answer, names))
            return answer

        proposed = config.model or (names[0] if names and not is_hosted(config.provider) else "")
        which = "Model (its number or its name)" if names else "Model"
        return await self.dialogue.checked(which, check, proposed)

    async def _embedded(self, old: str) -> str:
        """Ask for one of the embedded models. The better one is proposed where it runs well."""
        now = self.clock.seconds
        best = await self.keys.in_thread(lambda: BETTER if measure_machine(now).is_for_better else SMALL)
        width = max(map(len, MODELS))
        for name, model in MODELS.items():
            self.dialogue.tell(f"  {name:<{width}}  {model.name}, fetched once: {model.cost}")

        def check(answer: str) -> str:
            if is_hub_name(answer):
                return str(parse_hub_name(answer))
            if answer not in MODELS and not answer.endswith(".gguf"):
                raise ValueError(f"choose one of: {', '.join(MODELS)}; or give the path of a GGUF file")
            return answer

        which = f"Which one ({', '.join(MODELS)}, a file, or hf:OWNER/REPO:QUANT)"
        while True:
            chosen = await self.dialogue.checked(which, check, old or best)
            if not is_hub_name(chosen) or await self._agrees(chosen):
                return chosen

    async def _agrees(self, chosen: str) -> bool:
        """Ask whether a file of a hub may be fetched, with its size, and return False when it may not or is not there.

        Raises NotSetUp at the end of the input.
        """
        name = parse_hub_name(chosen)
        try:
            cost = await self.keys.in_thread(partial(self._told_by_hub, name))
        except (SourceFailed, DeadlineExceeded) as error:
            self.dialogue.tell(f"  {error}")
            return False
        return not cost or await self.dialogue.yes(f"The first start fetches {cost}. May it?", proposed=True)

    def _told_by_hub(self, name: HubName) -> str:
        """Return what a file of a hub costs, empty when it is here. Blocks. Raises SourceFailed."""
        if kept_file(name, default_data_dir()) is not None:
            return ""
        found = Hub.of(self.keys.environment, https_opener(loopback=True)).find(name)
        return f"{found.path} ({found.cost}; {found.under_licence})"

    async def _offered(self, config: ModelConfig) -> list[str]:
        """Return the models that the server lists; when there is no list, say why and return an empty one."""
        try:
            new = self.draft.keys.get(config.key)
            key = new.value if new else await resolve_key(config.key, self.keys)
            deadline = Deadline.after(self.clock, LOOK_SECONDS)
            offered = await offered_models(provider_of(config, key), self.exchange, deadline)
            return [model.name for model in offered]
        except KeyReferenceError as error:
            self.dialogue.tell(f"  The server was not asked for its models: {error}")
        except LLMError as error:
            self.dialogue.tell(f"  The server did not say which models it has: {self.keys.secrets.scrub(str(error))}")
        return []


def _usual(name: str) -> str:
    """Return the provider's usual address, empty when it has none."""
    return get_provider(name).api_url


def unlisted(answer: str, names: Sequence[str]) -> str:
    """Say that the server lists no such model, and name the most similar ones."""
    wanted = answer.casefold()
    by_part = {part: name for name in reversed(names) for part in (name.casefold().rpartition("/")[2], name.casefold())}
    closest = [name for name in names if wanted in name.casefold()]
    closest += [by_part[part] for part in get_close_matches(wanted, by_part, _CLOSEST, _LIKENESS)]
    shown = list(dict.fromkeys(closest))[:_CLOSEST]
    hint = f"the closest {'is' if len(shown) == 1 else 'are'} {', '.join(shown)}" if shown else "none is called like it"
    return f"the server lists no such model; {hint}. Choose one of its list, or give the same name again to keep it"


def same_server(new: str, old: str) -> bool:
    """Tell whether a key that was given for the old address may go to the new one."""
    return not old or (bool(new) and origin_of(new) == origin_of(old))


def checked_url(answer: str) -> str:
    """Return the address, checked. Raises ValueError."""
    if not answer:
        raise ValueError("give the address of the server, such as http://127.0.0.1:8080/v1")
    try:
        return ModelConfig(url=answer).url
    except ValidationError:
        raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1") from None
