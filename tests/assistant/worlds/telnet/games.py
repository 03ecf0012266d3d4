"""Scripts of the login of each game, in the words that its server uses."""

from __future__ import annotations

from mud_assistant.assistant.worlds.telnet.session.login import Credentials
from tests.assistant.worlds.telnet.scripted import PASSWORD, Step

POINTS = b"19H 100M 84V (news) (motd) > "
_MENU = (
    b"\r\nWelcome to tbaMUD!\r\n0) Exit from tbaMUD.\r\n1) Enter the game.\r\n2) Enter description.\r\n"
    b"3) Read the background story.\r\n4) Change password.\r\n5) Delete this character.\r\n\r\n   Make your choice: "
)
_TEMPLE = b"\x1b[0;33mThe Temple\x1b[0m\r\n   A hall.\r\n\x1b[0;36m[ Exits: n e s w d ]\x1b[0m\r\n\r\n"
DIKU: list[Step] = [
    b"\r\nAttempting to Detect Client, Please Wait...\r\n\xff\xfd\x18",
    b"\xff\xfa\x18\x01\xff\xf0\xff\xfd\x1f\xff\xfd*\xff\xfbE\xff\xfbF\xff\xfd\xc8\xff\xfbZ\xff\xfd[",
    b"\r\n\x1b[H\x1b[J   T B A M U D\r\n\r\nBy what name do you wish to be known? ",
    "Maren",
    b"Password: \xff\xfb\x01",
    PASSWORD,
    b"\xff\xfc\x01\r\nWelcome to tbaMUD!\r\n\r\n*** PRESS RETURN: ",
    "",
    _MENU,
    "1",
    b"\r\nWelcome to tbaMUD!  May your visit here be... Enlightening\r\n\r\n" + _TEMPLE + POINTS,
    "score",
    b"This ranks you as Maren the Swordpupil (level 1).\r\nYou are standing.\r\n\r\n" + POINTS,
]
RANVIER: list[Step] = [
    b"\r\n\xff\xfb\x19Connecting...\n\x1b[0mRanvier MUD engine\r\n\r\nWelcome, what is your name? \x1b[0m",
    "keeper",
    b"\x1b[36mEnter your password:\x1b[0m \x1b[0m\xff\xfb\x01",
    PASSWORD,
    b"\xff\xfc\x01",
    b"\xff\xfc\x01\r\n------------------------------\r\n|      Choose your fate\r\n------------------------------\r\n",
    b"| \x1b[36m[1]\x1b[39m Change Password\r\n| \x1b[36m[2]\x1b[39m Create New Character\r\n",
    b"| \x1b[1mLogin As:\x1b[22m\r\n| \x1b[36m[3]\x1b[39m Bertil\r\n| \x1b[36m[4]\x1b[39m Maren\r\n",
    b"| \x1b[1m\x1b[22m\r\n| \x1b[36m[5]\x1b[39m Quit\r\n|\r\n`-> ",
    "4",
    b"\r\n\x1b[33mWhite Room\x1b[0m\r\nA room.\r\n[Exits: east]\r\n",
    b"\x1b[0m\r\n[ 101/101 \x1b[1mhp\x1b[0m 100/100 energy ] \x1b[0m",
]
MUDPY: list[Step] = [
    b"\xff\xfb\x19",
    b"\r\n    M U D P Y\r\n\r\nIdentify yourself: \x1b[0m\xff\xef",
    "keeper",
    b"\r\nPassword: (won't echo) \x1b[0m\xff\xef",
    b"\xff\xfb\x01",
    PASSWORD,
    b"\r\n\xff\xfc\x01From here you can awaken, create and delete avatars.\r\n\r\n",
    b"   [\x1b[31ma\x1b[0m]  awaken an existing avatar\r\n",
    b"   [\x1b[31mc\x1b[0m]  create a new avatar\r\n\r\nWhat would you like to do? \x1b[0m\xff\xef",
    "a",
    b"\r\nThis is the list of avatars.\r\n\r\n   [\x1b[31m1\x1b[0m]  Bertil\r\n   [\x1b[31m2\x1b[0m]  Maren\r\n\r\n",
    b"Whom would you like to awaken? [\x1b[31m1\x1b[0m] \x1b[0m\xff\xef",
    "2",
    b"\r\n\x1b[36mCenter\x1b[0m\r\nA place.\r\n\x1b[36m[ Exits: down ]\x1b[0m\r\n\x1b[0m\r\n> \xff\xef",
]
MOO: list[Step] = [
    b"\xff\xfb\x46#$#mcp version: 2.1 to: 2.1\r\nWelcome to the ToastCore database.\r\n\r\n",
    b"Type 'connect <character-name> <password>' to connect to your character.\r\n",
    f"connect Maren {PASSWORD}",
    b"*** Connected ***\r\n\xff\xfb\x46#$#mcp-negotiate-end 1\r\nThe First Room\r\nThis is all there is right now.\r\n",
]
EVENNIA: list[Step] = [
    b'\xff\xfd"\xff\xfb\x03\xff\xfd\x1f\xff\xfd\x18\xff\xfbF\xff\xfbE\xff\xfb\xc9\xff\xfb[',
    b"===\r\n Welcome to g!\r\n\r\n      connect <username> <password>\r\n",
    b"      create <username> <password>\r\n===\r\n\xff\xf9",
    f"connect keeper {PASSWORD}",
    b"\r\nYou become \x1b[36mMaren\x1b[0m.\r\n\r\nLimbo\r\n",
    b"Welcome to your new Evennia-based game!\r\nExits: south\r\n\xff\xf9",
]
PENNMUSH: list[Step] = [
    b'\xff\xfd"',
    b"Use create <name> <password> to create a character.\r\n",
    b"Use connect <name> <password> to connect to your existing character.\r\nUse QUIT to logout.\r\n",
    f"connect Maren {PASSWORD}",
    b"\r\nWelcome to the bay!\r\n\r\nLast connect was from 127.0.0.1 on Fri Nov 27 09:00:00 2026.\r\n\r\n",
    b"MAIL: You have no mail.\r\n\r\nHarbour(#0RL)\r\nGulls cry.\r\nContents:\r\nBertil\r\nObvious exits:\r\nNorth\r\n",
    "@set me=NOSPOOF PARANOID",
    b"Maren - NOSPOOF set.\r\nMaren - PARANOID (already) set.\r\n",
    '@chatformat me=\\[%1 [if(strmatch(%0,"),type(%#),ACT)] %n(%#)\\] %2',
    b"Maren/CHATFORMAT - Set.\r\n",
    '@pageformat me=\\[page [if(strmatch(%1,"),type(%#),ACT)] %n(%#)\\] %0',
    b"Maren/PAGEFORMAT - Set.\r\n",
]
GAMES: dict[str, list[Step]] = {
    "diku": DIKU, "ranvier": RANVIER, "mudpy": MUDPY, "moo": MOO, "evennia": EVENNIA, "pennmush": PENNMUSH,
}  # fmt: skip
WHO = Credentials("Maren", PASSWORD, "keeper")
