"""Sorts the settings of an assistant into groups, in the order in which an owner looks for them. Pure."""

from __future__ import annotations

#: The names of each group, as the settings are named to owners; a name that ends in a dot stands for a whole table.
GROUPS: dict[str, tuple[str, ...]] = {
    "Which model thinks": (
        *("model.provider", "model.url", "model.model", "model.key", "model.context_tokens", "model.max_answer_tokens"),
        *("model.temperature", "model.think", "model.asking", "model.examples", "model.tool_choice"),
        *("model.search_first", "model.prices", "model.fetch_better"),
    ),
    "Who it is": (
        *("name", "aliases", "character", "persona", "voice", "greeting", "more_greetings", "greet_hours", "ai_mark"),
        "speech_colour",
    ),
    "Whom it hears, and what wakes it": (
        *("min_permission", "room_speech", "channel_speech", "to_everybody", "conversation_seconds", "hint", "wake_on"),
        *("wake_seconds", "join_seconds", "awake_seconds", "asleep_seconds", "inbox_limit"),
    ),
    "How it speaks": (
        *("plain_text", "speak_early", "may_repeat", "pause_seconds", "room_pause_seconds", "max_spoken"),
        *("fallback_line", "fallback_every_seconds", "waking_line", "waking_after_seconds", "slow_line"),
        *("slow_after_seconds", "late_after_seconds", "late_words", "budget_line", "rate_line"),
    ),
    "What it may do": (
        *("tools", "permission", "world_text_permission", "required_permission", "denied_commands", "max_calls"),
        *("max_network", "follow_minutes", "go_home_minutes"),
    ),
    "What it may cost": ("budget", "budget.", "alerts"),
    "How long it may think": ("max_steps", "run_seconds", "run_total_seconds", "max_run_tokens", "max_format_errors"),
    "How long its server is waited for": (
        *("model.connect_seconds", "model.first_byte_seconds", "model.idle_seconds", "model.progress_seconds"),
        *("model.max_attempts", "model.max_in_flight", "model.warm"),
    ),
    "What only some models take": ("model.",),
    "The web": ("web.",),
}
#: The group of a setting that is in none of these.
OTHERS = "Others"
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}


def group_of(name: str) -> str:
    """Return the group of a setting."""
    table, dot, _ = name.partition(".")
    return _GROUP_OF.get(name) or _GROUP_OF.get(f"{table}{dot}") or OTHERS
