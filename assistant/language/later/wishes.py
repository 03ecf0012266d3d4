"""Finds what a clause asks for that is to be done later: its kind, whom it is for, where and when. English. Pure.

A clause says it as a player does: "me" and "I" are the person who asks, "you" is the character.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from mud_assistant.assistant.events.goal import GoalKind
from mud_assistant.assistant.language.later.chores import CHORE, chore_in, split_place
from mud_assistant.assistant.language.later.hours import NAME, NOBODY
from mud_assistant.assistant.language.later.phrasing import is_same, person, whose
from mud_assistant.assistant.language.persons import to_listener
from mud_assistant.assistant.language.times import PRONOUNS, When, find_when, joined

#: What somebody is reminded of who asks to be woken.
WAKE_UP = "wake up"


class Asked(Struct, frozen=True):
    """What is asked for. `whom` is a name as it was said, empty for the asker; `place` is a room, empty for here.

    `what` is, for REMIND, what the asker is told, spoken to them; for TELL, the words to pass on, spoken by the asker,
    or for the asker themselves what they want to hear of; for CHORE and WAIT, the clause that asks for it.
    """

    kind: GoalKind
    when: When
    what: str = ""
    whom: str = ""
    place: str = ""


class Clause(Struct, frozen=True):
    """A clause without the time that it names.

    `said` is how the time is said, `is_apart` whether it stands in front of the verb or right behind a name, where it
    can be no part of what is to be told.
    """

    text: str
    when: When
    said: str
    is_apart: bool = False


_PLACE_WORDS = r"(?:(?:the|my|your|our|his|her|this|that) )?(?P<place>[\w'-]+(?: [\w'-]+){0,3}?)"
_NO_PLACE = (
    r"(?!(?:back|ease|peace|rest|once|least|all|bed|sleep|hell|war|work|me|us|it|you|life|touch|trouble|love|time|grips"
    r"|terms|think|see|mind|blows|know|light)\b)"
)
_AT = (
    rf"(?:at|to|in|into|by|near|outside|inside|behind|under|on|beside|beneath|next to|below|above|before|within|beyond"
    rf"|against|over by|over at|down at|down by|up at|up by|round at) {_NO_PLACE}{_PLACE_WORDS}"
)
_GOES_ON = (
    r"(?:[,;] .*|,? (?:(?:and|so|for|because|where|with|or|then|I|I'll|I've|need|since|as|when|once|before)\b|to (?:see"
    r"|talk|speak|meet|help|get|fetch|collect|pick|eat|dine|drink|finish|sing|play|dance|have|listen|watch|learn|show"
    r"|tell|work|pay)\b).*)?"
)
_REMIND = re.compile(
    r"(?i)(?:(?:remind|nudge|prod|poke|nag) (?:me|us)(?: again)?|(?:give|send) (?:me|us) a (?:nudge|poke|prod)"
    r"|(?:(?:give|send|set) (?:me |us )?|(?:(?:can|could|may) )?I(?: will|'ll|'d| would)? (?:need|want|like|get"
    r"|have) )a reminder|I need reminding|don't let me forget|(?:make sure|see to it) (?:that )?I (?:don't forget"
    r"|remember|do not forget))[,:]?(?: (?:of|about|that|to|so(?: that)?|because|or)\b)?[,:]?(?: (?P<what>.*))?"
)
_WAKE = re.compile(
    r"(?i)(?:(?:wake|rouse|awaken|get) (?:me|us)(?: up)?|shake (?:me|us) awake|give (?:me"
    r"|us) a wake-?up call)\b(?: from [\w ]+?)?(?:,? (?:and|so|or|to|for|we|I|I'm|it|it's) .*)?"
)
_KNOW = re.compile(
    r"(?i)(?:(?:come |go )?(?:and )?(?:let (?:me|us) know|(?:tell|warn|alert|notify|inform|call|ping|nudge|poke|tap"
    r"|buzz|text|message|msg|page|hail|ring|fetch|get|find|wake|signal|summon|wave|grab|hail|kick|show) (?:me"
    r"|us)(?: over| down)?|send (?:for me|me word)|give (?:me|us) a (?:shout|nod|sign|word|call|wave|holler|nudge|poke"
    r"|knock|prod|tap|buzz|ring|yell|shake|heads[ -]?up)|drop (?:me|us) a (?:line|note|word)|I(?: really"
    r"| must)?(?: (?:want|need|have)| would like|'d like|'d love|(?<=must))(?: to)? (?:know|be told|hear(?: (?:of"
    r"|about) it)?)|(?:shout|yell|call out|sing out|holler)(?: (?:for|at|to) (?:me|us))?|say (?:so"
    r"|something)))(?: (?:up|quietly|at once|right away|immediately|straight away|please))*"
)
#: What a call is for: "ping me in ten minutes, the oven is on". "Tell me the truth" is no call.
_FOR_WHAT = re.compile(
    rf"(?i)(?!I\b){_KNOW.pattern.removeprefix('(?i)')}(?: (?:again|then|once more))*(?:[,:;.-]* (?:(?:to|that"
    rf"|it'?s time to|because|since|so(?: that)?|or|lest)\b|(?<!tell me )(?:about|of|for|as)\b)|,| -"
    rf"|(?<!tell me)(?= (?:I|I'm|I've|I'll|I'd|my|our|the|have|need|going|gotta|don't|time|it's|we|we're|he|she"
    rf"|they)\b)),? (?P<what>.+)"
)
_WHOM = rf"(?P<whom>him|her|them|{NOBODY}{NAME})"
_TELL = re.compile(
    rf"(?i)(?:(?:tell|inform|warn|remind|ask|wish|message|text|acquaint|advise|notify|assure|bid|alert|charge|command"
    rf"|order|urge|beg) {_WHOM}|let {_WHOM.replace('whom', 'known')} know|(?:give|pass)(?! on\b"
    rf"| along\b) {_WHOM.replace('whom', 'given')} (?:the|my|this|a) (?:message|word)|(?:say|whisper|explain|mention"
    rf"|report|announce|make (?:it )?known|(?:pass|bear|take|carry|bring|send|give|relay|deliver|convey|get)(?: (?:it"
    rf"|this|that|the|my|a)? ?(?:words?|message|news|tidings|note)?)?(?: on"
    rf"| along)?) to {_WHOM.replace('whom', 'said')})(?:[,:]|\b)(?: (?:that|to|of|about)\b)?[,:]? (?P<what>.+)"
)
#: What is to be told was said before: "Her ring is here, so let her know when she comes."
_TELL_IT = re.compile(
    rf"(?i)(?:tell {_WHOM}(?: so| that| this| it)?|let {_WHOM.replace('whom', 'known')} know(?: that| this| it)?)"
)
#: "If Ann comes, say that I am out."
_SAY = re.compile(r"(?i)(?:say|mention) (?:that )?(?P<what>(?!so\b|something|nothing|hello|hi\b).+)")
_GREET = re.compile(
    rf"(?i)(?:(?:say (?P<hello>hello|hi|hey|goodbye|good morning|good night|thank you|thanks|sorry|happy birthday)"
    rf"|(?P<sorry>apologi[sz]e)) (?:to {_WHOM}|from me)|(?:give|send|hand|bring) {_WHOM.replace('whom', 'given')} my "
    rf"(?P<regards>regards|love|best(?: wishes)?|thanks|greetings|apologies)|(?P<greet>greet"
    rf"|thank) {_WHOM.replace('whom', 'known')})(?: (?:from|for) me)?(?: for (?P<thanks>.+))?"
)
_TO_SEE = r"(?:,? (?:and )?(?:to )?(?:see|find|meet|join|visit) (?:me|us))?"
_BACK = r"(?: (?:to (?:me|us)\b|on(?= back)|back|home|over|down|up|along|round|around|out|here|again))*"
_MEET = (
    r"(?:(?:let's|let us|shall we|can we|could we) meet(?: up)?|(?:(?:come|go) (?:and )?)?(?:meet|join|find|visit|see"
    r"|attend|wait for|await|(?:sit|stand|be|walk|eat|drink|talk) with|attend on|seek(?: out)?"
    r"|look for)(?: with)? (?:me|us)(?: out)?|meet)(?: (?:up|again|here|there|back|for (?:an? )?\w+))*"
)
_DROP_IN = r"(?:(?:show|turn) up|(?:stop|drop|swing|come|pop|call)(?: by| in| round| over)?)(?: here| again)?(?: at)?"
_BE = r"be(?: (?:right )?(?:back|here|there|waiting|ready)(?: (?:again|here))?)?"
_GO = "(?:come|return|get|go|walk|head|run|swing|slip|sneak|nip|step|wander|hop|drop|hurry|present yourself|appear)"
_COME = tuple(
    re.compile(rf"(?i){verb}(?: {_AT})?{_TO_SEE}{_GOES_ON}")
    for verb in (rf"{_GO}(?: and \w+(?: with (?:me|us))?)?{_BACK}", _BE, _MEET, _DROP_IN)
)
_VAGUE = re.compile(r"(?i)\b(?:some ?times?|some ?day|one (?:day|of these days)|eventually)\b")
#: So long somebody waits who waits for now, in seconds.
_NOW_SECONDS = 60.0
_STAYS = (
    r"(?:(?:wait|stay|remain|stand|hold(?: on)?|hang (?:on|about|around)|linger|sit|rest|keep(?= (?:here|by|at|to|still"
    r"|in|near))|watch|keep watch|stand guard|keep still|stick|lie|park)(?: (?:fast|tight|still|put|close|down|guard"
    r"|watch|quietly))*)"
)
_NOT_GO = r"(?:don't|do not|never) (?:you )?(?:move|go|leave|quit|stir|budge|wander|stray|run|walk|follow)"
_HERE = (
    rf"(?: (?:right|just|still|put|here|there|outside|inside|upstairs|downstairs|in this (?:spot|room|place|position"
    rf"|post)|by the \w+|for me|hence|without (?:me|us)|with (?:(?:the|my|your|our|this|that) (?:[a-z']+ )?)?\w+|on|off"
    rf"|up|away|forth|out|far|close|around|from (?:the|this|that|my|your) \w+|(?:the|this|that|my|our|your) \w+"
    rf"(?: \w+)?|anywhere|me|us|this (?:spot|room|place|position|post)|from here|(?:for )?a (?:bit|while|moment"
    rf"|minute|second|sec)|an? (?:inch|hair|muscle)|{_AT}))"
)
_WAIT = re.compile(
    rf"(?i)(?:{_STAYS}|be(?= (?:right )?(?:here|there|at|in)\b)|{_NOT_GO}){_HERE}*(?:,? (?:and|please|or) .*|, .*)?"
)
_PLACED = re.compile(
    r"(?i)\b(?:here|there|put|where you are|this (?:spot|room|place|position|post)|still|anywhere|move|budge|stir"
    r"|with \w+|(?:in|out|up|down)side|\w+stairs|(?:don't|do not|never) (?:you )?(?:leave|quit|go)|(?:by|at|in|near"
    r"|hold|beside|behind|under|within|next to|from|on) (?:the|this|that|my|your|our)) ?\b"
)
#: Until the asker is back, however it is said.
AWAY = re.compile(
    r"(?i),? ?\b(?:(?:until|till|'?til|while|whilst) I(?! (?:came|was|got|had|went|returned|left)\b)(?:'m (?:gone|away"
    r"|out|back)(?= (?:tell|say|let|ask)\b)|(?:'m|'ve)?\b[^,.!?]*)|(?:for|in|during|after|(?:up)?on) my (?:absence"
    r"|return))"
)
_GUARDS = re.compile(
    r"(?i)(?:watch|guard|mind|protect|look after|keep an eye on|take care of|keep watch over) (?P<what>.+)"
)


def asked_in(clause: Clause) -> Asked | None:
    """Return what a clause asks for later, None for nothing."""
    for kind in (_reminding, _knowing, _greeting, _telling, _waiting, _coming, _tending):
        asked = kind(clause)
        if asked is not None:
            return asked if (asked.when.person or "").casefold() not in PRONOUNS else None
    return None


def _reminding(clause: Clause) -> Asked | None:
    if _WAKE.fullmatch(clause.text) and clause.when.person is None:
        return Asked(GoalKind.REMIND, clause.when, WAKE_UP)
    if clause.when.person and (_KNOW.fullmatch(clause.text) or clause.text[:4].casefold() == "say "):
        return None  # "Nudge me when Ann comes."
    found = _REMIND.fullmatch(clause.text) or _FOR_WHAT.fullmatch(clause.text)
    if found is None or _NO_REMINDER.search(found["what"] or ""):
        return None
    return Asked(GoalKind.REMIND, clause.when, to_listener(_WHY.sub("", found["what"] or "")))


#: What is no matter to be reminded of: a question, or a time that only another one tells, "an hour before it starts".
_NO_REMINDER = re.compile(
    r"(?i)^(?:who|what|where|when|why|how|which|if|whether)\b|\b(?:hour|minutes|bit|while) before\b"
)
#: What is said behind what somebody is reminded of, and is no part of it.
_WHY = re.compile(
    r"(?i),? (?:lest I|(?:and|as|because|since|for|so|or|but) (?:I|I'm|I'd|I'll|I've|it|we|else)\b(?!.*\bto\b$)).*"
)


def _knowing(clause: Clause) -> Asked | None:
    """Return what the asker wants to hear of: that somebody is there, or that a time has come."""
    if _KNOW.fullmatch(clause.text) is None or clause.when.every:
        return None
    if clause.when.person in PRONOUNS:
        return None
    if clause.when.person:
        return Asked(GoalKind.TELL, clause.when, f"{clause.when.person} is here")
    is_when = re.match(r"(?i)when|once|as soon as", clause.said) is not None
    is_told = is_when or re.match(r"(?i)(?:tell|inform|show|find|fetch|get|wake|hail|I|come|go)\b", clause.text) is None
    return Asked(GoalKind.REMIND, clause.when) if is_told else None


def _greeting(clause: Clause) -> Asked | None:
    found = _GREET.fullmatch(clause.text)
    if found is None or clause.when.person == "":
        return None
    is_thanks = clause.text[:5].casefold() == "thank"
    words = found["hello"] or (found["sorry"] and "sorry") or ("thank you" if is_thanks else "hello")
    if found["regards"]:
        words = f"my {found['regards']}{' for ' if found['thanks'] else ''}{found['thanks'] or ''}"
    elif found["thanks"] and not found["hello"]:
        words = f"thank you for {found['thanks']}"
    whom = person(found["whom"] or found["given"] or found["known"] or "them", clause.when)
    return Asked(GoalKind.TELL, whose(clause.when, whom), words, whom) if whom else None


def _telling(clause: Clause) -> Asked | None:
    found = _TELL.fullmatch(clause.text)
    if found is None and clause.when.person and (bare := _TELL_IT.fullmatch(clause.text)) is not None:
        told = person(bare["whom"] or bare["known"], clause.when)
        return Asked(GoalKind.TELL, whose(clause.when, told), "", told) if told else None
    if found is None:
        said, whom = _SAY.fullmatch(clause.text), clause.when.person
        is_for_them = clause.is_apart and whom not in PRONOUNS
        return Asked(GoalKind.TELL, clause.when, said["what"], whom) if said and whom and is_for_them else None
    whom = person(found["whom"] or found["known"] or found["given"] or found["said"], clause.when)
    if not whom or clause.when.person == "" or not is_same(whom, clause.when.person or whom):
        return None
    if clause.when.person is None and not clause.is_apart:
        return None  # "Tell Ann that dinner is at six."
    what = re.sub(r"(?i) from me$|^from me,? (?:that )?", "", found["what"])
    if clause.text[:4].casefold() == "ask ":
        what = re.sub(r"(?i)^if\b", "whether", re.sub(r"(?i)^(for|about) ", _wanted, what))
    if re.match(r"(?i)(?:and|or|but)\b|(?:from|for) me\b", what):
        return None  # the words themselves are missing
    return Asked(GoalKind.TELL, whose(clause.when, whom), what, whom)


def _waiting(clause: Clause) -> Asked | None:
    if clause.when.every:
        return None
    is_away = clause.when.person == "" and clause.said.casefold().startswith(("till", "until", "til", "'til", "while"))
    if (is_away or (clause.said == "for" and CHORE.fullmatch(clause.text))) and _GUARDS.fullmatch(clause.text):
        return Asked(GoalKind.WAIT, clause.when, _small(clause.text))
    found = _WAIT.fullmatch(clause.text)
    if found is None or (clause.said == "for" and (clause.when.seconds or 0.0) <= _NOW_SECONDS):
        return None
    is_until = re.match(r"(?i)(?:tonight )?(?:until|till|'?til)|for|while|in my|during", clause.said) is not None
    is_until = is_until or (clause.when.person is not None and clause.said.casefold().startswith("when"))
    is_enough = found["place"] or _PLACED.search(clause.text) or clause.when.person == ""
    place, when = found["place"] or "", clause.when
    if when.person is not None and when.person.casefold() in PRONOUNS:
        named = re.search(rf"(?i)\b(?:for|with) {_WHOM}", clause.text)
        when = replace(when, person=named["whom"] if named else "")
    return Asked(GoalKind.WAIT, when, _small(clause.text), place=place) if is_until and is_enough else None


def _coming(clause: Clause) -> Asked | None:
    if re.match(r"(?i)until|till|'?til", clause.said):
        return None
    found = next(filter(None, (pattern.fullmatch(clause.text) for pattern in _COME)), None)
    more = find_when(clause.text) if found is not None and found["place"] and " at " in found["place"] else None
    if more is not None and (both := joined(clause.when, more[2])) is not None:  # "tomorrow at the inn at dusk"
        return _coming(Clause(f"{clause.text[: more[0]]}{clause.text[more[1] :]}".strip(" ,"), both, clause.said))
    if found is None or re.fullmatch(
        r"(?i)(?:meet|be|stop|drop|swing|pop|call|get|go|walk|run|head)(?: (?:on|out|down|up))*", clause.text
    ):
        return None
    if re.match(r"(?i)(?!sit|stand|eat|drink|be|meet|talk)\w+(?: along| out| away)? with (?:me|us|you)\b", clause.text):
        return None  # to walk beside somebody is no place to be at
    place = re.sub(r"(?i)^(?:the|this|here|place|spot)\b ?", "", found["place"] or "")
    if (clause.when.every and not place) or _VAGUE.search(clause.text):
        return None  # "I will be here, as I am every day."
    return Asked(GoalKind.COME, clause.when, place=place)


def _tending(clause: Clause) -> Asked | None:
    text = chore_in(clause.text, again=bool(clause.when.every))
    if (
        clause.said == "for"
        or not text
        or re.match(r"(?i)until|till|'?til|while|whilst|during|for my|in my", clause.said)
    ):
        return None
    what, place = split_place(re.sub(r"(?i) for me$|, [\w'-]+$", "", _small(text)))
    return Asked(GoalKind.CHORE, clause.when, what, place=place)


def _wanted(preposition: re.Match[str]) -> str:
    return "I would like " if preposition[1].casefold() == "for" else "I would like to hear about "


def is_asked(message: str) -> bool:
    """Tell whether a message to somebody asks them something: "whether she has my book"."""
    return re.match(r"(?i)whether\b", message) is not None


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]
