"""Fill the database that `DATABASE_URL` names: `python -m bench.volume [--share 0.01] [--sensors 1000000] …`."""

import argparse
import os
from dataclasses import asdict, fields, replace

import django

from bench.volume.sizes import Sizes


def main() -> None:
    parser = argparse.ArgumentParser(description="Fill an empty, migrated database of PostgreSQL.")
    parser.add_argument("--share", type=float, default=1.0, help="everything in small: 0.01 is a hundredth")
    for field in fields(Sizes):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=int, metavar="ROWS", help=f"{field.default:,}")
    asked = vars(parser.parse_args())
    sizes = Sizes().scaled(asked.pop("share"))
    sizes = replace(sizes, **{name: rows for name, rows in asked.items() if rows is not None})
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from bench.volume.fill import fill

    print(", ".join(f"{name} {rows:,}" for name, rows in asdict(sizes).items()), flush=True)
    fill(sizes, tell=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
