"""What the visitor of a trial hears and sees of the world, and of the assistant's thinking."""

from __future__ import annotations

from collections.abc import Callable

from mud_assistant.assistant.events.outcome import Failed, LimitReached, Outcome
from mud_assistant.assistant.events.trace import StepTrace
from mud_assistant.assistant.service.troubles import TroubleKind, Troubles
from mud_assistant.assistant.service.wording.showing import outcome_text, spoken_lines, trace_json, trace_text
from mud_assistant.assistant.surfaces.trial.piped import Screen
from mud_assistant.tools import Principal
from mud_assistant.tools.text.clean import one_line


class VisitorListener:
    """Shows the visitor each event on the screen."""

    def __init__(self, screen: Screen, me: Principal) -> None:
        self._screen = screen
        self._me = me

    def heard_say(self, speaker: Principal, text: str, target: Principal | None) -> None:
        """Show that somebody spoke aloud."""
        to_me = " to you" if target is not None and target.id == self._me.id else ""
        self._screen.show(f'{speaker.name} says{to_me}, "{spoken_lines(text)}"')

    def heard_whisper(self, speaker: Principal, text: str) -> None:
        """Show that somebody whispered to the visitor."""
        self._screen.show(f'{speaker.name} whispers to you, "{spoken_lines(text)}"')

    def heard_page(self, speaker: Principal, text: str) -> None:
        """Show that somebody paged the visitor."""
        self._screen.show(f'{speaker.name} pages you, "{spoken_lines(text)}"')

    def heard_channel(self, speaker: Principal, channel: str, text: str) -> None:
        """Show that somebody spoke on a channel."""
        self._screen.show(f'[{channel}] {speaker.name}: "{spoken_lines(text)}"')

    def saw_emote(self, actor: Principal, text: str) -> None:
        """Show that somebody did something visible."""
        self._screen.show(f"{actor.name} {one_line(text)}")

    def was_given(self, giver: Principal, thing: str, authority: int | None = None) -> None:
        """Show that somebody gave the visitor a thing."""
        self._screen.show(f"{giver.name} gives you the {one_line(thing)}.")

    def saw_arrival(self, who: Principal, from_direction: str) -> None:
        """Show that somebody came in."""
        self._screen.show(f"{who.name} arrives{f' from {from_direction}' if from_direction else ''}.")

    def saw_departure(self, who: Principal, direction: str) -> None:
        """Show that somebody went away."""
        self._screen.show(f"{who.name} leaves{f' {direction}' if direction else ''}.")


class TrialObserver:
    """An observer that shows the thinking sign, and each step when tracing is on.

    With `as_json` it always prints each step as one JSON object, tracing or not.
    """

    def __init__(
        self,
        screen: Screen,
        name: str,
        troubles: Troubles,
        *,
        as_json: bool,
        tracing: bool,
        scrub: Callable[[str], str] = str,
    ) -> None:
        self._screen = screen
        self._troubles = troubles
        self._name = name
        self._as_json = as_json
        self._scrub = scrub
        self.tracing = tracing

    def thinking(self, run_id: str, step: int) -> None:
        """Show the thinking sign: the model is about to be asked."""
        self._screen.thinking(self._name)

    def step(self, trace: StepTrace) -> None:
        """Show a finished step as JSON, or as text when tracing is on."""
        if self._as_json:
            print(trace_json(trace, self._scrub), flush=True)
        elif self.tracing:
            self._screen.remark(trace_text(trace))

    def run_ended(self, run_id: str, outcome: Outcome) -> None:
        """Clear the thinking sign, and show the outcome when tracing is on."""
        self._screen.thinking(None)
        if self.tracing and not self._as_json:
            self._screen.remark(outcome_text(run_id, outcome))

    def failed(self, failure: Failed | LimitReached) -> None:
        """Show in one sentence why the model could not be asked, unless it was already shown as a trouble."""
        self._screen.thinking(None)
        if failure.cause in [trouble.sentence for trouble in self._troubles.of_kind(TroubleKind.JOURNAL)]:
            return
        if isinstance(failure, LimitReached):
            self._screen.remark(f"({self._name} was not asked: {failure.cause}.)")
            return
        lasting = "mend it and type /reload; after a while it is asked again by itself, and the line is kept"
        advice = lasting if failure.lasting else "it is asked again by itself, and the line is kept"
        self._screen.remark(f"({self._name} could not think: {failure.cause}; {advice}.)")
