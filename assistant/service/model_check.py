"""Tests a model before its settings are kept, with all that the doctor checks of one."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.checks.check_runner import CheckRunner
from assistant.checks.finding import Finding
from assistant.checks.model import ModelChecks
from assistant.config.schema import Config, ModelConfig
from assistant.service.service import AssistantService
from llm.embedded.fetching.models import default_data_dir


async def check_model(service: AssistantService, config: ModelConfig, entered: str) -> Sequence[Finding]:
    """Return what is found of the model, key and server of these settings. Neither they nor the key are remembered.

    `entered` is the reference of a key given just now, which may go to this server. Cancelling ends the question to
    the model.
    """
    parts = service.parts
    await parts.ready()
    service.settings_changed()
    bound = await parts.bound_with(Config(model=config), entered)
    runner = CheckRunner(service.clock, lambda _: None, lambda _: None, service.scrub)
    await ModelChecks("model", config, parts.exchange, parts.keys, bound, default_data_dir(), runner).run()
    return runner.found
