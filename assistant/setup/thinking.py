"""The questions about the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import ValidationError
from twisted.internet.interfaces import IReactorTime

from assistant.choose_model import LOOK_SECONDS
from assistant.config import ModelConfig
from assistant.doctor.model import HOSTED
from assistant.keys import KeyReferenceError, KeySources, resolve_key
from assistant.setup.dialogue import Dialogue
from assistant.setup.draft import Draft
from assistant.setup.keeping import reference
from llm import LLMError, get_provider
from llm.discover import chat_models, ollama_models
from resilience import Deadline, HttpExchange, origin_of

PROVIDERS = ("auto", "ollama", "local", "openai", "anthropic", "openrouter")
_ABOUT = """Which model is to think?
  auto        a local Ollama when one answers, else the small model that comes along
  ollama      an Ollama, here or elsewhere
  local       any OpenAI-compatible server of yours: llama.cpp, LM Studio, vLLM
  openai, anthropic, openrouter   on the internet, with a key"""
_USUAL = {name: get_provider(name).api_url for name in PROVIDERS if name not in {"auto", "local"}}
_SHOWN = 20
#: How many names are shown that are like the one that was given, and how like they must be (difflib's measure).
_CLOSEST, _LIKENESS = 3, 0.5


@dataclass(frozen=True, slots=True)
class ModelQuestions:
    """Asks for the model and its key."""

    dialogue: Dialogue
    draft: Draft
    exchange: HttpExchange
    clock: IReactorTime
    keys: KeySources

    async def ask(self) -> None:
        """Put what is answered into the draft."""
        old, draft = self.draft.before.model, self.draft
        self.dialogue.tell(_ABOUT)
        name = await self.dialogue.choice("Provider", PROVIDERS, old.provider if old.provider in PROVIDERS else "auto")
        same = old if old.provider == name else ModelConfig(provider=name)
        draft.set("model", "provider", value=name)
        url = key = model = ""
        if name == "auto":
            url, key, model = same.url, same.key, same.model
        else:
            url, usual = await self._url(name, same.url), _USUAL.get(name, "")
            key = await self._key(name, same.key if same_server(url or usual, same.url or usual) else "")
            model = await self._model(ModelConfig(provider=name, url=url, model=same.model, key=key))
        draft.set("model", "url", value=url)
        draft.set("model", "key", value=key)
        draft.set("model", "model", value=model)

    async def _url(self, name: str, old: str) -> str:
        """The address; empty for the provider's usual place."""
        usual = _USUAL.get(name, "")
        answer = await self.dialogue.checked("Address of the server", checked_url, old or usual)
        return "" if answer == usual else answer

    async def _key(self, name: str, old: str) -> str:
        wants = f"Does the server want a key?{'' if old else ' Most of your own want none.'}"
        if name not in HOSTED and not await self.dialogue.yes(wants, proposed=bool(old)):
            return ""
        return await reference(self.dialogue, self.draft, self.keys.secrets, name, old)

    async def _model(self, config: ModelConfig) -> str:
        """The model's name, from the server's list where it has one."""
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
            if names and not _is_listed(answer, names) and answer not in insisted:
                insisted.add(answer)
                raise ValueError(unlisted(answer, names))
            return answer

        proposed = config.model or (names[0] if names and config.provider not in HOSTED else "")
        which = "Model (its number or its name)" if names else "Model"
        return await self.dialogue.checked(which, check, proposed)

    async def _offered(self, config: ModelConfig) -> list[str]:
        """What the server says it has; nothing, and why, when it does not say."""
        try:
            new = self.draft.keys.get(config.key)
            key = new.value if new else await resolve_key(config.key, self.keys)
            provider = get_provider(config.provider, config.url, key=key)
            ask = ollama_models if config.provider == "ollama" else chat_models
            deadline = Deadline.after(self.clock, LOOK_SECONDS)
            return [model.name for model in await ask(provider, self.exchange, deadline)]
        except KeyReferenceError as error:
            self.dialogue.tell(f"  The server was not asked for its models: {error}")
        except LLMError as error:
            self.dialogue.tell(f"  The server did not say which models it has: {self.keys.secrets.scrub(str(error))}")
        return []


def unlisted(answer: str, names: Sequence[str]) -> str:
    """That the server lists no such model, with those that are called most like it."""
    wanted = answer.casefold()
    by_part = {part: name for name in reversed(names) for part in (name.casefold().rpartition("/")[2], name.casefold())}
    closest = [name for name in names if wanted in name.casefold()]
    closest += [by_part[part] for part in get_close_matches(wanted, by_part, _CLOSEST, _LIKENESS)]
    shown = list(dict.fromkeys(closest))[:_CLOSEST]
    hint = f"the closest {'is' if len(shown) == 1 else 'are'} {', '.join(shown)}" if shown else "none is called like it"
    return f"the server lists no such model; {hint}. Choose one of its list, or give the same name again to keep it"


def _is_listed(answer: str, names: Sequence[str]) -> bool:
    """Whether the server has the model; Ollama takes a name without a tag for the latest."""
    return answer in names or f"{answer}:latest" in names


def same_server(new: str, old: str) -> bool:
    """Whether a key that was given for the old address may go to the new one."""
    return not old or (bool(new) and origin_of(new) == origin_of(old))


def checked_url(answer: str) -> str:
    """The address. Raises ValueError."""
    if not answer:
        raise ValueError("give the address of the server, such as http://127.0.0.1:8080/v1")
    try:
        return ModelConfig(url=answer).url
    except ValidationError:
        raise ValueError("give the address of a server, such as http://127.0.0.1:8080/v1") from None
