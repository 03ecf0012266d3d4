"""What was spent: bars by day with the limit and the pace, tables with totals, and how the limits are changed."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from mud_assistant.assistant.page.http.call import PageCall, Reply, Route, StreamReply
from mud_assistant.assistant.page.operations.desk import Desk
from mud_assistant.assistant.page.ports import PageError
from mud_assistant.assistant.page.values.common import VisitorRole
from mud_assistant.assistant.page.values.money import UsageAnswer
from mud_assistant.assistant.page.views.control.period import PERIODS, Period, period_from
from mud_assistant.assistant.page.views.control.usage_table import BY, usage_table
from mud_assistant.assistant.page.views.element import Element, h
from mud_assistant.assistant.page.views.formats import money, number, percent, short_number
from mud_assistant.assistant.page.views.forms import choice_field, filter_bar, text_field
from mud_assistant.assistant.page.views.layout import page
from mud_assistant.assistant.page.views.parts import card, figure_tile, key_values, link, notice, path_to, tiles
from mud_assistant.assistant.page.views.shared import failure, html
from mud_assistant.assistant.page.views.svg.bars import day_bars, ranked_bars
from mud_assistant.assistant.page.views.svg.frame import LimitLine
from mud_assistant.assistant.page.views.svg.meter import limit_meter
from mud_assistant.assistant.page.views.svg.usage import UsageSums, add_up_usage, bars_of_usage, ranks_of_usage
from mud_assistant.resilience import Allowance, Amount


class Measure(Struct, frozen=True):
    """What the bars show: its name, how it is taken from what was used and from a limit, how it is written."""

    name: str
    of: Callable[[Amount], float]
    limit: Callable[[Allowance], float | None]
    write: Callable[[float], str]


_MEASURES = {
    "money": Measure("Money", lambda used: used.money, lambda ceiling: ceiling.money, money),
    "tokens": Measure("Tokens", lambda used: used.tokens, lambda ceiling: ceiling.tokens, short_number),
    "calls": Measure("Calls", lambda used: used.calls, lambda ceiling: ceiling.calls, short_number),
}


class MoneyChoice(Struct, frozen=True):
    """What is looked at: grouped by what, in which period, shown as what ("" for what says most)."""

    by: str
    period: Period
    show: str

    def fields(self) -> dict[str, str]:
        """Return the choices as fields of an address."""
        return {"by": self.by, "show": self.show, **self.period.fields()}

    def measure(self, total: Amount) -> Measure:
        """Return what the bars show: money, but tokens where no money was spent."""
        return _MEASURES[self.show or ("money" if total.money > 0 else "tokens")]


def routes(desk: Desk) -> list[Route]:
    """Return the route of the money."""

    async def show(call: PageCall) -> Reply | StreamReply:
        choice = _choice(call)
        present = await desk.usage(call.visitor, "day", "", "")
        since, until = choice.period.days(present.until)
        try:
            is_present = not since and choice.by == "day"
            answer = present if is_present else await desk.usage(call.visitor, choice.by, since, until)
        except PageError as error:
            return html(money_page(call, choice, present, error), error)
        return html(money_page(call, choice, answer))

    return [Route("GET", "/money", show)]


def _choice(call: PageCall) -> MoneyChoice:
    by, show = call.query.get("by", ""), call.query.get("show", "")
    return MoneyChoice(by if by in BY else "day", period_from(call.query), show if show in _MEASURES else "")


def money_page(call: PageCall, choice: MoneyChoice, answer: UsageAnswer, error: PageError | None = None) -> bytes:
    """Return the page of an answer on usage."""
    measure = choice.measure(answer.total)
    sums = add_up_usage(answer, measure.of)
    asked = {"by": answer.by, "from": answer.since, "to": answer.until}
    return page(
        call,
        "Money",
        failure(error) if error else None,
        [notice(sentence, tone="warn") for sentence in choice.period.wrong],
        _figures(answer),
        _filters(call, choice),
        card(f"{measure.name} by {'day' if answer.by == 'day' else f'day and {answer.by}'}", _bars(sums, measure)),
        None if answer.by == "day" else card(f"{measure.name} by {answer.by}", _ranks(sums, measure)),
        card(f"By {answer.by}, with the total", h("div", usage_table(call, sums), class_="folding")),
        _limits(call, answer),
        current="money",
        lead=(
            f"From {answer.since} to {answer.until}, both included. A day begins at midnight of the time zone that is "
            f"set for budgets, UTC{answer.utc_offset_hours:+g} h."
        ),
        actions=[
            h("a", "Gateway keys", href=path_to(call, "money", "keys"), class_="button plain")
            if call.visitor.role.may(VisitorRole.OWNER)
            else None,
            h("a", "Raw JSON", href=path_to(call, "api", "v1", "usage", **asked), class_="button link"),
        ],
    )


def _filters(call: PageCall, choice: MoneyChoice) -> Element:
    way = path_to(call, "money")
    quick = [
        h(
            "a",
            label,
            href=path_to(call, "money", by=choice.by, show=choice.show, period=key),
            class_="button plain",
            aria_current="true" if choice.period.key == key else None,
        )
        for key, label in PERIODS.items()
    ]
    return h(
        "div",
        h("nav", quick, class_="periods", aria_label="Period"),
        filter_bar(
            way,
            choice_field("by", "By", [(key, label.lower()) for key, label in BY.items()], choice.by),
            choice_field(
                "show",
                "Bars show",
                [("", "what says most"), *((key, each.name.lower()) for key, each in _MEASURES.items())],
                choice.show,
            ),
            text_field("from", "From", choice.period.since, kind="date"),
            text_field("to", "To", choice.period.until, kind="date"),
            None if choice.period.is_own else h("input", type="hidden", name="period", value=choice.period.key),
            is_used=bool(choice.show or choice.period.is_own or choice.by != "day"),
            label="Show",
        ),
        class_="money-filters",
    )


def _figures(answer: UsageAnswer) -> Element:
    pace, total = answer.pace, answer.total
    allowed = pace.ceiling.money
    is_over = allowed is not None and pace.expected.money > allowed
    return tiles(
        figure_tile("Spent in this period", money(total.money)),
        figure_tile("Tokens", short_number(total.tokens), f"{number(total.calls)} calls"),
        figure_tile(
            f"Spent in {pace.month}", money(pace.spent.money), f"day {pace.days_over + 1} of {pace.days_in_month}"
        ),
        figure_tile(
            "At this pace, by the end of the month",
            money(pace.expected.money),
            f"{percent(pace.expected.money / allowed)} of what its daily limits allow"
            if allowed
            else "no limit is set",
            "warn" if is_over else "",
        ),
    )


def _bars(sums: UsageSums, measure: Measure) -> Element:
    answer = sums.answer
    names, bars = bars_of_usage(sums)
    limit = measure.limit(answer.ceiling)
    sentence = f"{measure.write(measure.of(answer.total))} from {answer.since} to {answer.until}."
    if any(bar.is_expected for bar in bars):
        sentence += f" Hollow bars: what the rest of {answer.pace.month} takes at this pace."
    line = LimitLine(limit, f"limit of a day: {measure.write(limit)}") if limit else None
    return day_bars(f"{measure.name} by day", sentence, names, bars, limit=line, write=measure.write)


def _ranks(sums: UsageSums, measure: Measure) -> Element:
    answer = sums.answer
    ranks = ranks_of_usage(sums)
    sentence = f"Who or what used most, from {answer.since} to {answer.until}."
    return ranked_bars(f"{measure.name} by {answer.by}", sentence, ranks, what=BY[answer.by], write=measure.write)


def _limits(call: PageCall, answer: UsageAnswer) -> Element:
    ceiling, pace = answer.ceiling, answer.pace
    pairs = []
    for measure in _MEASURES.values():
        limit = measure.limit(ceiling)
        if limit is None:
            pairs.append((f"{measure.name} a day", h("span", "no limit", class_="quiet")))
            continue
        mean = measure.of(pace.expected) / pace.days_in_month
        told = f"{measure.write(limit)}; {measure.write(mean)} a day were used so far in {pace.month}, on average"
        shown = h("div", limit_meter(f"{measure.name} a day", mean, limit), h("p", told), class_="limit-line")
        pairs.append((f"{measure.name} a day", shown))
    return card(
        "Limits for all assistants together",
        key_values(*pairs),
        h(
            "p",
            "When a limit is reached, assistants say so and think again the next day. Limits are changed among the ",
            link(call, "settings of the game", "settings", q="budget"),
            " (in a trial: in the table [budget] of assistant.toml), those of one assistant among its own.",
        ),
    )
