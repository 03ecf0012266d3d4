"""Charts made by the server: pure functions that return SVG which scales with its column, and a table of the same.

No chart needs the script, a style attribute or colour alone: series differ in pattern too, and each has its table.
"""

from mud_assistant.assistant.page.views.svg.bars import RankedBar, StackedBar, day_bars, ranked_bars
from mud_assistant.assistant.page.views.svg.frame import LimitLine
from mud_assistant.assistant.page.views.svg.meter import context_meter, limit_meter, meter
from mud_assistant.assistant.page.views.svg.over_time import circuit_strip, timing_lines
from mud_assistant.assistant.page.views.svg.usage import add_up_usage, bars_of_usage, ranks_of_usage

__all__ = [
    "LimitLine",
    "RankedBar",
    "StackedBar",
    "add_up_usage",
    "bars_of_usage",
    "circuit_strip",
    "context_meter",
    "day_bars",
    "limit_meter",
    "meter",
    "ranked_bars",
    "ranks_of_usage",
    "timing_lines",
]
