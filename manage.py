#!/usr/bin/env python
"""Run a command of the project: `manage.py help` lists them."""

import os
import sys

from config.counters import share_counters
from config.environment.rules import BadVariable
from config.load import loading
from config.version import VERSION


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["--version"]:
        print(VERSION)  # else Django would say its own
        return
    try:
        if sys.argv[1:2] == ["up"]:
            share_counters()
        with loading():
            import django
            from django.core.management import execute_from_command_line

            django.setup()
        execute_from_command_line(sys.argv)
    except BadVariable as bad:
        sys.exit(str(bad))


if __name__ == "__main__":
    main()
