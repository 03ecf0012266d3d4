"""Tells which of a few languages a line is in, and writes out English that was typed in a hurry. Pure.

For each language it knows a sentence to answer with. "whats in ur sack" becomes "What's in your sack?": rules and small
models know the written forms. A line in another language is left as it is.
"""

from __future__ import annotations

import re

from mud_assistant.assistant.language.words import words_of

#: Common words of each language. Two of them in a line, and more of them than English ones, tell the language.
_COMMON = {
    "French": "je suis oui non et vous tu est pas bien merci bonjour peu parle mon ma le la les des avec ici que qui",
    "German": "ich bin und nicht ja der die das guten tag ein eine hier mein den ist kein danke wie geht du was wer",
    "Spanish": "soy y el la es hola gracias estoy muy bien una mi aquí hablo poco español buenos días con yo qué cómo",
    "Italian": "sono ciao e il la buongiorno grazie bene poco parlo sì non un una mio con qui mi io che come cosa",
    "Dutch": "ik ben en niet ja de het een goed dank hier mijn goedemorgen hallo spreek met wat hoe je",
    "Polish": "jestem tak nie dzień dobry w na to mam się jak dziękuję tu po polsku mówię co",
    "Portuguese": "eu sou e não sim bom dia obrigado você uma meu minha aqui falo como está que o a",
    "Swedish": "jag är och inte ja det en ett god dag tack här min hej hur vad du med",
}
_WORDS = {name: frozenset(words.split()) for name, words in _COMMON.items()}
_ENGLISH_TEXT = """
    the a an is are am i you my your what who where why how do does did and to of in it that this not me please
    have can will with for on at hello good
"""
_ENGLISH = frozenset(_ENGLISH_TEXT.split())
_MORE_ENGLISH_TEXT = """
    lend take get grab pick up give hand pass bring fetch drop put down lay look see read show go walk come run head
    climb leave enter follow stay wait open close use turn shut light pour push along floor ground quickly please
    climb hurry step pull hold keep make let tell say ask know think like love want need nice good bad old new big
    small some any all no yes here there now then out back over off by from as so if or but he she we they his her
    our their its was were be been had has would could should there's it's i'm don't
"""
#: The commonest English words, those of plain orders among them.
COMMON_ENGLISH = _ENGLISH | frozenset(_MORE_ENGLISH_TEXT.split())
#: English words that are words of other languages as well.
_SHARED_TEXT = """
    in an so was war die hat no me as on to do by my he we is am at or put over all see need a i des den nu
"""
_SHARED = frozenset(_SHARED_TEXT.split())
#: What a character says that knows little of a language.
SPEAKS_A_LITTLE = {
    "French": "Je parle un peu français, mais pas bien.", "German": "Ich spreche nur ein wenig Deutsch.",
    "Spanish": "Hablo muy poco español.", "Italian": "Parlo poco italiano.",
    "Dutch": "Ik spreek een beetje Nederlands.", "Polish": "Mówię po polsku tylko trochę.",
    "Portuguese": "Eu falo só um pouco de português.", "Swedish": "Jag talar bara lite svenska.",
}  # fmt: skip
_MIN_WORDS, _MIN_COMMON = 3, 2


def language_of(line: str) -> str:
    """Return the language of `line` by its English name; empty for English, a short line and any other language."""
    words = words_of(line)
    if len(words) < _MIN_WORDS:
        return ""
    english = sum(word in _ENGLISH for word in words)
    count, name = max((common_words(line, name), name) for name in _WORDS)
    return name if count >= _MIN_COMMON and count > english else ""


def is_foreign(line: str) -> bool:
    """Tell whether a line is plainly in another language, or at least has no English word."""
    if language_of(line):
        return True
    words = [word for word in words_of(line) if len(word) > 1]
    return len(words) > 1 and not set(words) & (COMMON_ENGLISH - _SHARED)


def common_words(text: str, language: str) -> int:
    """Return how many words of `text` are common ones of `language`."""
    return sum(word in _WORDS[language] for word in words_of(text))


_SHORT_TEXT = """
    u=you ya=you ur=your yer=your r=are im=I'm ive=I've i=I i'm=I'm i've=I've i'll=I'll i'd=I'd youre=you're
    youve=you've theyre=they're weve=we've dont=don't cant=can't wont=won't isnt=isn't arent=aren't wasnt=wasn't
    werent=weren't doesnt=doesn't didnt=didn't havent=haven't hasnt=hasn't wouldnt=wouldn't couldnt=couldn't
    shouldnt=shouldn't aint=isn't whats=what's wheres=where's whos=who's hows=how's thats=that's theres=there's
    heres=here's lets=let's gimme=give_me lemme=let_me gonna=going_to wanna=want_to gotta=have_to cmon=come_on
    c'mon=come_on pls=please plz=please thx=thanks ty=thanks bc=because cuz=because coz=because tho=though b4=before
    sth=something smth=something wat=what wut=what wot=what k=okay tmrw=tomorrow tmr=tomorrow tmw=tomorrow
    2moro=tomorrow 2morrow=tomorrow tonite=tonight 2nite=tonight wen=when abt=about tomorrows=tomorrow's
    yesterdays=yesterday's todays=today's cya=see_you wassup=what's_up sup=what's_up dunno=don't_know kinda=kind_of
    sorta=sort_of idk=I_don't_know lmk=let_me_know msg=message cn=can hes=he's shes=she's bak=back
    mornin=morning nite=night l8r=later wil=will w8=wait teh=the hte=the kno=know nd=and n=and w=with tel=tell
    cos=because adn=and gtg=I_must_go nxt=next comeback=come_back midnite=midnight 4get=forget 2day=today sry=sorry
    comin=coming goin=going lookin=looking waitin=waiting gunna=going_to whenevr=whenever dnt=don't jst=just wld=would
    cld=could ppl=people rn=now gotcha=got_you thru=through luv=love
"""
_SHORT = {short: long.replace("_", " ") for short, long in (pair.split("=") for pair in _SHORT_TEXT.split())}
#: Sounds that stand for no word.
_NOISES = frozenset({"lol", "lmao", "rofl", "haha", "hehe", "btw", "xd", "irl", "tbh"})
#: Words on which a request hangs, and what is no slip of them.
_MISTYPED_TEXT = """
    remind minutes minute message tomorrow morning evening midnight tonight every everyday until before after please
    arrives return returns when check feed back from keep come wait tell water light sweep about meet
"""
_MISTYPED = _MISTYPED_TEXT.split()
_NO_SLIPS = frozenset({"minute", "minutes", "minuet", "message", "messages", "ever", "mourning", "even", "eve"})
_LEAST_SLIP, _NO_VOWELS = 5, 3
_WORD = re.compile(r"(?<![\w'\u2019@.-])[A-Za-z0-9]+(?:['\u2019][A-Za-z]+)?(?![\w-])")
_WH = r"(?:what|where|who|how|when)(?:['\u2019]s)?|whose|which|whom|why|any(?:thing|one|body)?"
_PRONOUN = r"(?:you|I|he|she|it|they|we)"
_AUXILIARY = (
    rf"(?:(?:is|are|am|was|were|isn't|aren't)\s+(?:{_PRONOUN}|the|that|this|there|your|my|any(?:one|body|thing)?)|(?:do"
    rf"|does|did|can|could|will|would|shall|should|may|have|has|had|don't|didn't|doesn't|haven't|can't"
    rf"|won't)\s+(?:{_PRONOUN}|any(?:one|body)))"
)
#: What may stand before a question: a call, a sigh, a link. One more word may be the name of the person who is asked.
_BEFORE = (
    r"(?:(?:hey|hi|hello|ok|okay|so|and|but|well|oh|ah|um|er|please|tell me|say|now|then|sir|madam|friend|also)\W+)*"
)
_NO_CALL = r"(?!(?:I|you|he|she|it|they|we|that|this|know|see|guess|tell|show|ask|not|me|us|is|are|was|and)\b)"
_CALLED = rf"{_NO_CALL}[\w'-]+\W+(?:(?:{_WH})\b|(?!is\b|was\b|has\b){_AUXILIARY}\b)"
_QUESTION = re.compile(rf"(?i)^\W*{_BEFORE}(?:(?:{_WH})\b|{_AUXILIARY}\b|{_CALLED})")
_LAST_SENTENCE = re.compile(r"(?:^|(?<=[.!?\u2026])\s+)([^.!?\u2026]+)$")


def write_out(line: str) -> str:
    """Return `line` with short forms written out, a capital at its beginning, and a mark at its end."""
    line = " ".join(line.split())
    if not line or language_of(line):
        return line
    out = _WORD.sub(_long, line)
    out = re.sub(r"\s+(?=[,.!?])", "", " ".join(out.split())).lstrip(" ,")
    if not out:
        return line
    last = _LAST_SENTENCE.search(out)
    if last is not None and out[-1].isalnum():
        out += "?" if _QUESTION.search(last[1]) else "."
    return out[:1].upper() + out[1:]


def _mended(word: str) -> str:
    """Return a word that others hang on as it is meant: "remnd", "mintues", without its vowels "rmd"; else as is."""
    typed = word.casefold()
    if len(typed) < _NO_VOWELS or typed in _MISTYPED or typed in _NO_SLIPS:
        return word
    alike = (meant for meant in _MISTYPED if meant[0] == typed[0])
    if re.fullmatch("[b-df-hj-np-tv-xz]+", typed):
        in_order = re.compile("[a-z]*".join(typed))
        found = next(filter(in_order.match, alike), "")
    else:
        found = next((meant for meant in alike if len(meant) >= _LEAST_SLIP and is_slip(typed, meant)), "")
    return word if not found else found if word[0].islower() else found.capitalize()


def is_slip(typed: str, meant: str) -> bool:
    """Tell whether a word differs from another by one letter too many or too few, or two in the wrong order."""
    if len(typed) == len(meant):
        off = [at for at, (one, other) in enumerate(zip(typed, meant, strict=True)) if one != other]
        return bool(off) and off == [off[0], off[0] + 1] and sorted(typed) == sorted(meant)
    longer, shorter = (typed, meant) if len(typed) > len(meant) else (meant, typed)
    return longer != f"{shorter}s" and any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def _long(match: re.Match[str]) -> str:
    word = match[0].replace("\u2019", "'")
    if word.casefold() in _NOISES:
        return ""
    is_name = word.isupper() and len(word) > 1  # "UR" may be one, and "I" is right as it is
    long = _SHORT.get(word.casefold()) or _mended(word)
    is_name = is_name or (match.start() > 0 and word[0].isupper() and long.islower())  # "tell Wat"
    return match[0] if is_name else long
