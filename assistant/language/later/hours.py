"""Holds the words of English times: hours that have names, amounts, who comes. Pure."""

from __future__ import annotations

MINUTE, HOUR, DAY, WEEK = 60.0, 3_600.0, 86_400.0, 604_800.0
#: "In a little while", and "later": so many seconds from now.
A_WHILE = 10 * MINUTE
#: The hours of half a day and of a day.
HALF_DAY, FULL_DAY = 12.0, 24.0
#: The hours of a day that have names. The first of an hour is what a character says.
HOURS: dict[str, float] = {
    "at dawn": 6, "at sunrise": 6, "at first light": 6, "at daybreak": 6, "at cockcrow": 6, "before breakfast": 7,
    "at breakfast": 7.5, "in the morning": 8, "after breakfast": 8.5, "before noon": 11.5, "at noon": 12,
    "at midday": 12, "at lunch": 12.5, "after noon": 13, "after lunch": 13.5, "in the afternoon": 15, "at teatime": 16,
    "before dusk": 17.5, "before dark": 17.5, "before supper": 17.75, "before dinner": 17.75, "at dusk": 18,
    "at sunset": 18, "at sundown": 18, "at twilight": 18, "at dark": 18, "at supper": 18.25, "at dinner": 18.25,
    "in the evening": 19, "after dusk": 19, "after dark": 19, "after supper": 19.25, "after dinner": 19.25,
    "at nightfall": 20, "tonight": 21, "at night": 21, "at bedtime": 22, "at midnight": 0, "before dawn": 5.5,
    "after dawn": 7, "before midnight": 23.5, "before nightfall": 19.5, "after midnight": 1,
}  # fmt: skip
#: How long before and after a named hour "before noon" and "after supper" are, in hours.
BEFORE, AFTER = 0.5, 1.0
#: How else a named hour is written.
SAME = {"firstlight": "first light"}
PARTS = {"morning": 8.0, "afternoon": 15.0, "evening": 19.0, "night": 21.0}
NUMBERS_TEXT = "one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {word: float(at) for at, word in enumerate(NUMBERS_TEXT.split(), 1)}
AMOUNTS = NUMBERS | {
    "a": 1.0, "an": 1.0, "a couple of": 2.0, "couple of": 2.0, "a few": 3.0, "few": 3.0, "half": 0.5, "half a": 0.5,
    "half an": 0.5, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "forty-five": 45.0, "fifty": 50.0,
    "sixty": 60.0, "a dozen": 12.0, "a quarter of an": 0.25, "three quarters of an": 0.75,
    "a quarter": 0.25, "quarter of an": 0.25, "other": 2.0, "a half": 0.5,
}  # fmt: skip
AMOUNTS |= {
    f"{tens}{link}{one}": AMOUNTS[tens] + NUMBERS[one]
    for tens in ("twenty", "thirty", "forty", "fifty")
    for one in NUMBERS_TEXT.split()[:9]
    for link in "- "
}
UNITS = {"s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY, "w": WEEK, "f": 2 * WEEK}

NUMBER = rf"(?:{'|'.join(NUMBERS)}|\d{{1,2}})"
COUNT = rf"(?:{'|'.join(sorted(AMOUNTS, key=len, reverse=True))}|\d{{1,4}}(?:\.\d+)?)"
MORE = r"(?: and a (?:half|quarter))"
UNIT = r"(?:sec(?:ond)?|min(?:ute)?|hour|hr|day|week|fortnight)s?(?![\w-])"
AMOUNT = (
    rf"(?:(?:(?:about|around|say|just|like|another|exactly|roughly) )|~ ?)*(?P<n>{COUNT})(?P<half>{MORE})?(?: more)?(?:"
    rf" game)? ?(?:(?P<unit>{UNIT})|(?<=\d)(?P<short>[smhd])(?!\w))(?P<late>{MORE})?(?: or (?:so"
    rf"|{COUNT}))?(?:['\u2019]s? time)?"
)
#: "In ten" is in ten minutes, where nothing follows that is counted.
BARE = (
    r"(?P<n>two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|forty-five|fifty"
    r"|[1-9]\d?)(?=\W*$|[,.!?;:](?!\d)| (?:please|would|will|could|can|okay|thanks|thank|then|to|that|about|and|tell"
    r"|remind|so|because|for|or|I)\b)"
)
PART = "morning|afternoon|evening|night"
MEAL = r"breakfast|lunch|dinner|supper|tea|bed"
LIGHT = (
    r"dawn|sun ?rise|first light|day ?break|cockcrow|noon|mid-?day|dusk|dark|sun ?set|sundown|twilight|night-?fall"
    r"|mid-?night"
)
#: What stands after a number that is no hour.
COUNTED = r"(?! ?(?:%|[\w-]*(?:coin|penn(?:y|ies)|pence|gold|silver|copper|year|day|hour|minute|week|month|time|mile)))"
CLOCK = (
    rf"(?:(?P<past>half|(?:a )?quarter|ten|five|twenty(?:[- ]five)?|\d{{1,2}}(?= (?:minutes? )?(?:past|after"
    rf"|to) \w))(?: minutes?(?= (?:past|after|to)))?(?: (?P<to>past|after|to))? )?(?P<h>{NUMBER})(?:[:.](?P<m>\d\d))?"
    rf"(?: (?P<word>thirty|fifteen))?(?:(?P<oclock> ?o['\u2019]?clock)|(?! ?o['\u2019]?clock)(?! (?:of|more|or|people"
    rf"|men|feet)\b))(?: ?(?P<ap>[ap])\.?m\b\.?)?(?: hours| sharp)?(?![\w'-]){COUNTED}"
)
#: What stands behind a number that is an hour, where it is not "at" that number.
CLOCK_ENDS = (
    r"(?=\W*$|[.,;!?]| (?:in the|at night|tonight|tomorrow|today|please|and|to|that|every|each|this)\b|(?<=[mk.]))"
)
RELATION = (
    r"(?:at|by|before|after|around|about|till|until|from|come|toward|towards|(?:on|at) the stroke of|(?:when|once"
    r"|as soon as) (?:it(?:'s| is)|(?:it|the (?:clock|bell)) strikes))"
)
TITLE = (
    "the|my|your|our|his|her|that|old|young|fair|good|sweet|dear|the knave|the rogue|master|mistress|captain|lady|lord"
    "|sir|mr|mrs|miss|doctor|father|mother|brother|sister|aunt|uncle|king|queen"
)
#: How somebody is called: "Ann", "Ann of Harl", "the old miller", "captain Reed".
NAME = (
    rf"(?:(?:{TITLE}) (?:[a-z][\w-]* )??(?:[a-z][\w-]*)(?: (?-i:(?!I\b)[A-Z])[\w-]*)*"
    rf"|(?-i:(?!I\b)[A-Z])[\w-]*(?: (?:of )?(?-i:(?!I\b)[A-Z])[\w-]*)*|[a-z][\w-]*)"
)
#: What comes and is nobody, and what is no name.
NOBODY = (
    r"(?!(?:the |your |my )?(?:sun|night|day|morning|evening|dawn|dusk|time|winter|spring|summer|autumn|rain|snow|war"
    r"|push|tide|moon|moment|hour|weather|storm|dinner|supper|food|bread|it|that|this|there|what|who|everything|nobody"
    r"|nothing|something|everyone|someone|somebody|anyone|anybody|everybody|death|trouble|opportunity|harvest|ship|boat"
    r"|ferry|money|a|an|all|one|you|things?|not|to|then|and|or|people|we|ever|is|are|me|us|these|those|no|life"
    r"|truth)\b)"
)
_MOVES = (
    "com(?:e|ing)|get|getting|walk|wander|step|drop|stop|pop|swing|stroll|go|stumble|stagger|run|ride|march|slip|burst"
    "|roll|sail|drift|rush|hurry|wash|crawl|pull|turn|show|log|check|sign|sit|settle|make it|find (?:her|his|their) way"
    "|(?:poke|stick|show)s? (?:her|his|their) (?:head|nose|face)"
)
#: How somebody comes: "gets back", "finally turns up", "is in". "Coming to the inn" has more behind it.
COMES = (
    rf"(?:(?:next|finally|ever|at last|(?:happens?|bothers?|manages?) to|has|have|is|are|am|should|will|be|does"
    rf"|again) )*(?:(?:{_MOVES})(?:e?s|ing)? (?:back|in(?:side)?|by|home|here|round|around|over|along|through|past|down"
    rf"|up|out|on(?:line)?|to)\b|(?:com(?:es?|ing)|return(?:s|ed|ing)?|arriv(?:es?|ed|ing)|(?:shown|turned) up|appears?"
    rf"|visits?|enter(?:s|ing)?|logs?(?=\W*$|[,:;-])|asks?(?: (?:for|after|about) (?:me|us)| where I (?:am|was|went))?"
    rf"|pass(?:es)?(?: by)?|back|here|around|home|present|online|(?:cross(?:es)?|darkens?) (?:the|this|your|my"
    rf"|our) (?:threshold|door\w*)|sets? foot|finds? (?:me|you|us)|joins?|awake|wakes?(?: up)?|near(?:by)?|(?:on|in"
    rf"|shows?|about)(?=\W*$|[,;:]| (?:remind|tell|ask|let|say|give|that|to|and|please)\b)|shows? (?:her|his"
    rf"|their) face)\b)(?: (?:(?:to|through|into|past|from|within|inside) (?:(?:the|this|that|these|those|your|my|our"
    rf"|see) )?\w+|finally|at last|back|again|here|in|home|by|round|around|over|next|through|(?:the|this|that"
    rf"|your) (?:room|door|shop|house|inn|gate|hall|garden|tavern|village|bridge)|this way|(?:looking|asking"
    rf"|calling)(?: for (?:me|us|you))?)\b)*"
)
ONCE = (
    r"(?:(?:if and )?when(?:ever)?(?: next)?|once|if(?: ever)?|by the time|when and if|as soon as|(?:the )?(?:next"
    r"|first) time(?: that)?|the (?:very )?(?:moment|minute|second|instant)(?: that)?|after|until|till|'?til|for when"
    r"|in case)"
)
SEE = (
    r"(?:(?:next|ever|happen to|should|do|can|will) )*(?:see|behold|meet|run into|bump into|spot|catch|encounter"
    r"|come across|hear from|(?:speak|talk) (?:to|with))"
)
