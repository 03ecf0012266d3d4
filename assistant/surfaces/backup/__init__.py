"""The commands `mud-assistant backup` and `mud-assistant restore`.

backup_arguments.py   their command lines
contents.py           what belongs into a backup, and where it lies
archive.py            the file: a manifest and its members, written, read and compared
backup_command.py     backup
restore_command.py    restore
"""
