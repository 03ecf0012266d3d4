"""Runs commands that need no reactor: they read and write files or a database, and block."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial

from mud_assistant.assistant.errors import AssistantError, complaint
from mud_assistant.assistant.keys.redaction import Secrets
from mud_assistant.assistant.running import begin_logging
from mud_assistant.assistant.starting import INTERRUPTED, loading
from mud_assistant.assistant.surfaces.doctor import DoctorScreen


def doctor_before_upgrade(options: argparse.Namespace, secrets: Secrets, screen: DoctorScreen) -> int:
    """Say whether this installation may be upgraded, and return the exit status. Needs no reactor."""
    with loading():
        from mud_assistant.assistant.surfaces.before_upgrade import before_upgrade

    begin_logging(None, secrets)
    return before_upgrade(options.config, os.environ, secrets, _now(), screen.show)


def journal(options: argparse.Namespace, secrets: Secrets) -> int:
    """Copy a journal, and return the exit status. Needs no reactor."""
    with loading():
        from mud_assistant.assistant.surfaces.journal.command import JournalOptions, run_journal

    begin_logging(None, secrets)
    wanted = JournalOptions(**{name: value for name, value in vars(options).items() if name != "command"})
    return in_foreground(partial(run_journal, wanted, os.environ, secrets, _now()))


def backup(options: argparse.Namespace, secrets: Secrets) -> int:
    """Make a backup, and return the exit status. Needs no reactor."""
    with loading():
        from mud_assistant.assistant.surfaces.backup.backup_command import run_backup
        from mud_assistant.assistant.surfaces.backup.contents import BackupOptions

    begin_logging(None, secrets)
    wanted = BackupOptions(**{name: value for name, value in vars(options).items() if name != "command"})
    return in_foreground(partial(run_backup, wanted, os.environ, secrets, _now()))


def restore(options: argparse.Namespace, secrets: Secrets) -> int:
    """Restore a backup, and return the exit status. Needs no reactor."""
    with loading():
        from mud_assistant.assistant.surfaces.backup.restore_command import RestoreOptions, run_restore

    begin_logging(None, secrets)
    return in_foreground(partial(run_restore, RestoreOptions(options.file, options.to, options.overwrite)))


def _now() -> float:
    return time.time()  # noqa: TID251  (the composition root)


def in_foreground(work: Callable[..., int]) -> int:
    """Do what tells its result on standard output, and how far it is on standard error; return the exit status."""
    try:
        return work(tell=print, note=partial(print, file=sys.stderr))
    except AssistantError as error:
        return refuse(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def refuse(error: AssistantError) -> int:
    """Say why the command cannot start; return its exit status."""
    print(complaint(error), file=sys.stderr)
    return 2
