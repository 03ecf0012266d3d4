"""Settings of a game that lives in memory: stock Evennia with its own game template, and no folder of its own."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

_here = Path.cwd()
import evennia  # noqa: E402  (importing its settings may change the working directory, ten levels up)

sys.path.append(str(Path(evennia.__file__).parent / "game_template"))
from evennia.settings_default import *  # noqa: E402, F403

os.chdir(_here)


SECRET_KEY = "only for tests"
TEST_ENVIRONMENT = True
#: Off in a stock game; the tests of other languages need it.
USE_I18N = True
#: The tables are made from the models at once, in a second instead of ten.
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:", "TEST": {"MIGRATE": False}}}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
#: Nothing is logged to files unless a test asks for it; a folder of its own, because workers run side by side.
LOG_DIR = tempfile.mkdtemp(prefix="mud-assistant-game-")
atexit.register(shutil.rmtree, LOG_DIR, ignore_errors=True)
SERVER_LOG_FILE = str(Path(LOG_DIR) / "server.log")
PORTAL_LOG_FILE = str(Path(LOG_DIR) / "portal.log")
HTTP_LOG_FILE = str(Path(LOG_DIR) / "http.log")
LOCKWARNING_LOG_FILE = str(Path(LOG_DIR) / "locks.log")
TELNET_INTERFACES = WEBSERVER_INTERFACES = ["127.0.0.1"]
WEBSOCKET_CLIENT_INTERFACE = "127.0.0.1"
