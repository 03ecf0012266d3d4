"""Draws a film of a terminal as an SVG that moves by style alone: no script, no font, nothing fetched.

Without motion (a reader who prefers it reduced, paper) it is its last picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from scripts.recording.asciicast import Recording
from scripts.recording.frames import Shown, Span, film

_CHAR, _LINE, _EDGE = 8.4, 18.0, 14.0
#: How long the last picture stays, in seconds, before it begins anew.
_STAYS = 6.0
_STYLE = """
svg{{--back:#fbfbfa;--text:#24292f;--edge:#d0d7de;--bar:#57606a}}
@media (prefers-color-scheme:dark){{svg{{--back:#0d1117;--text:#e6edf3;--edge:#30363d;--bar:#9198a1}}}}
.b{{fill:var(--back);stroke:var(--edge)}}
text{{font:14px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--text);white-space:pre}}
.s{{font-weight:bold}}.r{{fill:var(--back)}}.h{{fill:var(--bar)}}
.g{{visibility:hidden}}
g{{animation:{seconds:.1f}s step-end infinite}}
#roll{{transform:translateY({end:.0f}px);animation-name:roll}}
@keyframes roll{{{roll}}}
{keyframes}
@media (prefers-reduced-motion:reduce){{g{{animation:none!important}}}}
@media print{{g{{animation:none!important}}}}
"""


def drawn(recording: Recording) -> str:
    """Return the SVG of a recording. A reader who does not see it is told what stands there at the end."""
    played = film(recording)
    seconds = played.seconds + _STAYS
    width, height = recording.width * _CHAR + 2 * _EDGE, recording.height * _LINE + 2 * _EDGE
    names: dict[tuple[float, float | None], str] = {}
    rows = "".join(_group(shown, names) for shown in played.shown)
    keyframes = "\n".join(_keyframes(name, begin, end, seconds) for (begin, end), name in names.items())
    roll = "".join(
        f"{_percent(at, seconds)}{{transform:translateY({-top * _LINE:.0f}px)}}" for at, top in played.scrolled
    )
    end = -played.scrolled[-1][1] * _LINE
    style = _STYLE.format(seconds=seconds, end=end, roll=roll, keyframes=keyframes)
    words = escape(transcript(recording), quote=False)
    inner = f'<svg x="{_EDGE:g}" y="{_EDGE:g}" width="{width - 2 * _EDGE:g}" height="{height - 2 * _EDGE:g}">'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-labelledby="t d">'
        f'<title id="t">{escape(recording.title)}</title><desc id="d">{words}</desc><style>{style}</style>'
        f'<rect class="b" x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>'
        f'{inner}<g id="roll">\n{rows}</g></svg></svg>\n'
    )


def transcript(recording: Recording) -> str:
    """Return what stands on the whole roll at the end, without the row that helps to type."""
    last = [shown for shown in film(recording).shown if shown.end is None]
    lines = ("".join(span.text for span in shown.row if not span.is_reversed) for shown in last)
    return "\n".join(line for line in lines if line.strip() not in {"", ">"})


def _group(shown: Shown, names: dict[tuple[float, float | None], str]) -> str:
    """Return a row, with the name of the animation that shows it in its time."""
    parts = "".join(_parts(shown.line, shown.row))
    if (shown.begin, shown.end) == (0.0, None):
        return f"{parts}\n"
    name = names.setdefault((shown.begin, shown.end), f"k{len(names)}")
    return f'<g class="{name}{"" if shown.end is None else " g"}">{parts}</g>\n'


def _parts(line: int, row: tuple[Span, ...]) -> Iterator[str]:
    for span in row:
        x, y, width = span.column * _CHAR, line * _LINE, len(span.text) * _CHAR
        if span.is_reversed:
            yield f'<rect class="h" x="{x:g}" y="{y:g}" width="{width:g}" height="{_LINE:g}"/>'
        kinds = " ".join(kind for kind, holds in (("s", span.is_bold), ("r", span.is_reversed)) if holds)
        kind = f' class="{kinds}"' if kinds else ""
        text = span.text.rstrip()
        if text:
            length = f' textLength="{len(text) * _CHAR:.4g}"'
            yield f'<text{kind} x="{x:g}" y="{y + 13:g}"{length}>{escape(text, quote=False)}</text>'


def _keyframes(name: str, begin: float, end: float | None, seconds: float) -> str:
    """Return the rule of an animation: hidden, there from `begin`, hidden again from `end`."""
    hidden = "" if begin == 0 else "0%{visibility:hidden}"
    gone = "" if end is None else f"{_percent(end, seconds)}{{visibility:hidden}}"
    there = f"{_percent(begin, seconds)}{{visibility:visible}}"
    return f".{name}{{animation-name:{name}}}@keyframes {name}{{{hidden}{there}{gone}}}"


def _percent(at: float, seconds: float) -> str:
    return f"{100 * at / seconds:.2f}%"
