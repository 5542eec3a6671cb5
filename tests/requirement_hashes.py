"""Write the hashes of what is pinned into the requirements files, as pip's own client finds them.

Run `python -m tests.requirement_hashes` after a pin has changed, on a machine whose package index is to be trusted, and
read the difference before it is committed. Kept are the source and the wheels for Linux and macOS, for each Python that
the product runs on.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pip._internal.cli.req_command import RequirementCommand
from pip._internal.commands import create_command
from pip._internal.index.collector import LinkCollector, parse_links
from pip._internal.models.link import Link
from pip._vendor.packaging.utils import parse_sdist_filename, parse_wheel_filename
from pip._vendor.packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "requirements-dev.txt")
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?P<marker>;[^\\#]*)?")
PYTHON = re.compile(r"py3|py2\.py3|cp31[1-4]|cp3\d+-abi3")
PLATFORM = re.compile(r"any|manylinux.*_(x86_64|aarch64)|macosx.*_(x86_64|arm64|universal2)")


def main() -> None:
    command = create_command("download")
    assert isinstance(command, RequirementCommand)
    options, _ = command.parse_args([])
    with command._build_session(options) as session:
        collector = command._build_package_finder(options, session)._link_collector
        for name in FILES:
            path = ROOT / name
            path.write_text("".join(_lines(path.read_text(), collector)))


def _lines(text: str, collector: LinkCollector) -> Iterator[str]:
    """Copy the file with new hashes in the place of the old ones."""
    for line in text.splitlines(keepends=True):
        pin = PIN.match(line)
        if pin is not None:
            wanted = " \\\n".join([pin[0].strip(), *(f"    --hash=sha256:{each}" for each in _hashes(pin, collector))])
            yield f"{wanted}\n"
        elif not line.lstrip().startswith("--hash="):
            yield line


def _hashes(pin: re.Match[str], collector: LinkCollector) -> list[str]:
    found = set()
    for location in collector.search_scope.get_index_urls_locations(pin["name"]):
        page = collector.fetch_response(Link(location))
        links = () if page is None else parse_links(page)
        found |= {link._hashes["sha256"] for link in links if _is_wanted(link.filename, Version(pin["version"]))}
    if not found:
        sys.exit(f"{pin[0]}: the package index has no such file")
    return sorted(found)


def _is_wanted(filename: str, version: Version) -> bool:
    try:
        if not filename.endswith(".whl"):
            return parse_sdist_filename(filename)[1] == version
        _, of, _, tags = parse_wheel_filename(filename)
    except ValueError:  # a file of another kind, or from before there were rules for names
        return False
    fits = any(
        PYTHON.match(f"{tag.interpreter}-{tag.abi}") and tag.abi[-1] != "t" and PLATFORM.fullmatch(tag.platform)
        for tag in tags
    )
    return of == version and fits


if __name__ == "__main__":
    main()
