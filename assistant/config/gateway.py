"""The settings of the gateway: where it listens, which models it offers under which names, and who may use it."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from mud_assistant.assistant.config.model_config import ModelConfig
from mud_assistant.assistant.config.sections import Settings
from mud_assistant.assistant.http_server.addresses import checked_network, is_loopback

#: A name of a model as clients send it.
ModelName = Annotated[str, Field(pattern=r"^[\w.:/@+-]{1,100}$")]


class GatewayModelConfig(ModelConfig, defer_build=True):
    """A model that clients may ask, and what is asked in its place."""

    #: Other names by which clients may ask for it, such as one that a program insists on.
    aliases: tuple[ModelName, ...] = Field(default=(), max_length=50)
    #: Asked in this order when the model before cannot answer.
    fallback: tuple[ModelConfig, ...] = Field(default=(), max_length=10)

    @property
    def chain(self) -> tuple[ModelConfig, ...]:
        """The models in the order in which they are asked."""
        return (self, *self.fallback)


class GatewayConfig(Settings):
    """Whether other programs may use the models, and how. They need the addresses and the keys of the gateway alone."""

    #: Whether `serve` and a game open it. The command `mud-assistant gateway` does so in any case.
    enabled: bool = False
    #: The port it listens on; 0 takes one that is free.
    port: int = Field(default=8420, ge=0, le=65_535)
    #: The address it listens on; another than this machine's own lets other machines in, and takes keys.
    interface: str = Field(default="127.0.0.1", max_length=60, pattern=r"^[0-9A-Za-z.:]+$")
    #: Further names under which it may be asked, such as that of a proxy with HTTPS in front of it. A name that others
    #: can reach takes keys.
    hosts: tuple[Annotated[str, Field(min_length=1, max_length=253)], ...] = ()
    #: The addresses of proxies in front of it, such as 127.0.0.1: whom they name in X-Forwarded-For or Forwarded counts
    #: as the client. From anybody else these headers say nothing.
    proxies: tuple[Annotated[str, AfterValidator(checked_network)], ...] = ()
    #: Web pages that may use it from a browser, such as https://chat.example.org; usually none may.
    origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/]+$", max_length=300)], ...] = ()
    #: Fields of requests that are passed on to a provider of the same dialect besides the harmless ones, such as
    #: service_tier or plugins: for whoever has a key they may cost more, or reach what others keep there.
    forwarded_fields: tuple[Annotated[str, Field(pattern=r"^[\w.-]{1,100}$")], ...] = Field(default=(), max_length=100)
    #: The file of the keys it has given out, from the folder of the settings. It holds no key, only what proves one.
    keys: str = Field(default="gateway-keys.json", min_length=1, max_length=300)
    #: How much of the requests to one server it may have under way, so that assistants need not wait for it.
    share: float = Field(default=0.75, gt=0, le=1)
    #: How long the whole of an answer may take while nothing comes.
    call_seconds: float = Field(default=600.0, gt=0, le=7200)
    #: The models by the names under which clients ask for them. Without any, clients ask for the assistants' own.
    models: dict[ModelName, GatewayModelConfig] = Field(default={}, max_length=100)

    @model_validator(mode="after")
    def _names_once(self) -> GatewayConfig:
        """Reject a name that means two models."""
        seen: set[str] = set(self.models)
        for name, model in self.models.items():
            for alias in model.aliases:
                if alias in seen:
                    raise ValueError(f"models.{name}.aliases: '{alias}' means another model already")
                seen.add(alias)
        return self

    @property
    def opened_by(self) -> str:
        """The setting by which machines other than this one can reach it; empty when they cannot."""
        if not is_loopback(self.interface):
            return f"interface = '{self.interface}'"
        if others := [host for host in self.hosts if not is_loopback(host)]:
            return f"hosts = '{others[0]}'"
        return f"proxies = '{self.proxies[0]}'" if self.proxies else ""
