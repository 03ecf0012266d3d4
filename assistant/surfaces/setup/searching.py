"""The questions about the web: the search providers, the page providers, and what each of them needs."""

from __future__ import annotations

from msgspec import Struct

from mud_assistant.assistant.config.sections import WebProviderConfig
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.surfaces.setup.dialogue import Dialogue
from mud_assistant.assistant.surfaces.setup.keys import reference
from mud_assistant.assistant.surfaces.setup.thinking import checked_url, same_server
from mud_assistant.assistant.surfaces.setup.writing import SettingsDraft
from mud_assistant.tools.web import READ_PROVIDERS, SEARCH_PROVIDERS, registry

_SEARCHES = """Who searches? One, or several in the order in which they are tried:
  duckduckgo  without a key; reads the pages people see, and is blocked now and then
  tavily      with a key, or a little without one
  searxng     your own server, without a key
  perplexity, brave   with a key"""
_READS = """Who reads pages? One, or several in order:
  direct      this program itself
  jina        a service, with a key or slowly without one
  tavily      a service
  crawl4ai    your own server, with a browser"""


class Needs(Struct, frozen=True):
    """What a provider needs. `url` is the proposed address of the owner's own server, None for a public service."""

    key: bool = False
    #: A key is useful, but not required.
    may_have_key: bool = False
    url: str | None = None


#: What the registry does not say: whose key is optional, and the usual address of the owner's own server.
_NEEDS = {
    "tavily": Needs(may_have_key=True),
    "searxng": Needs(url="http://127.0.0.1:8888"),
    "direct": Needs(),
    "jina": Needs(may_have_key=True),
    "crawl4ai": Needs(may_have_key=True, url="http://127.0.0.1:11235"),
}


def needs_of(name: str) -> Needs:
    """Return what this provider needs."""
    if name in _NEEDS:
        return _NEEDS[name]
    maker = registry.SEARCH_PROVIDERS.get(name) or registry.READ_PROVIDERS[name]
    return Needs(key=maker.needs_key, url="http://127.0.0.1" if maker.needs_url else None)


class WebQuestions(Struct, frozen=True):
    """Asks for the search providers and the page providers."""

    dialogue: Dialogue
    draft: SettingsDraft
    secrets: Secrets

    async def ask(self) -> bool:
        """Ask, put the answers into the draft, and return whether the web is used."""
        old = self.draft.before.web
        if not await self.dialogue.yes("May assistants search and read the web?", proposed=bool(old.search_provider)):
            if old.search_provider:
                self.draft.set("web", "search_provider", value=())
            return False
        self.dialogue.tell(_SEARCHES)
        searchers = await self.dialogue.several("Searching", SEARCH_PROVIDERS, old.search_provider or ("duckduckgo",))
        self.dialogue.tell(_READS)
        readers = await self.dialogue.several("Reading", READ_PROVIDERS, old.read_provider)
        self.draft.set("web", "search_provider", value=searchers)
        if readers != old.read_provider:
            self.draft.set("web", "read_provider", value=readers)
        for name in dict.fromkeys((*searchers, *readers)):
            await self._needs(name, needs_of(name))
        return True

    async def _needs(self, name: str, needs: Needs) -> None:
        old = self.draft.before.web.providers.get(name, WebProviderConfig())
        held = old.key
        if needs.url is not None:
            url = await self.dialogue.checked(f"Address of your {name}", checked_url, old.url or needs.url)
            self.draft.set("web", "providers", name, "url", value=url)
            held = old.key if same_server(url, old.url) else ""
        wants = needs.key or (
            needs.may_have_key and await self.dialogue.yes(f"Have you a key of {name}?", proposed=bool(held))
        )
        if wants:
            key = await reference(self.dialogue, self.draft, self.secrets, name, held)
            self.draft.set("web", "providers", name, "key", value=key)
        elif needs.may_have_key:
            self.draft.set("web", "providers", name, "key", value="")
