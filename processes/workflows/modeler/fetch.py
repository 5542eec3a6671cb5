"""`make assets`: bring the modeler's files from the npm registry into the static files, each package by its checksum.

The packages ship bundles that browsers take as they are, so nothing is built: two megabytes and a few seconds, against
minutes and some hundred packages for a build of our own. The product runs without: then its own drawings serve.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import TypedDict

HERE = Path(__file__).parent
ASSETS = HERE / "assets"
FOLDER = "bpmn-js"
# The maps are as large as what they explain, and not brought along.
_SOURCE_MAP = re.compile(rb"^\s*(//|/\*)# sourceMappingURL=.*$", re.MULTILINE)


class Package(TypedDict):
    name: str
    version: str
    integrity: str
    files: dict[str, str]


class WrongPackage(Exception):
    """A package is not the one that was chosen."""


def fetch_all() -> Path:
    """Bring the files unless they are there, and return their folder; older ones stay until the new are complete."""
    chosen = (HERE / "packages.json").read_text()
    folder = ASSETS / FOLDER
    stamp = folder / "packages.json"
    if stamp.is_file() and stamp.read_text() == chosen:
        return folder
    packages: list[Package] = json.loads(chosen)
    ASSETS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HERE) as place:
        made = Path(place) / FOLDER
        for package in packages:
            unpack(_download(package, Path(place)), package, made)
        (made / stamp.name).write_text(chosen)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
    return folder


def unpack(archive: Path, package: Package, target: Path) -> None:
    """Take the wanted files out of a package; raise `WrongPackage` unless it is byte for byte the chosen one."""
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if found != package["integrity"]:
        raise WrongPackage(f"{package['name']} {package['version']} has the checksum {found}.")
    with tarfile.open(archive) as members:
        for inside, name in package["files"].items():
            member = members.extractfile(str(PurePosixPath("package") / inside))
            if member is None:
                raise WrongPackage(f"{package['name']} {package['version']} has no file {inside}.")
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_SOURCE_MAP.sub(b"", member.read()) if path.suffix in (".js", ".css") else member.read())


def _download(package: Package, place: Path) -> Path:
    command = ["npm", "pack", "--silent", "--ignore-scripts", f"{package['name']}@{package['version']}"]
    answer = subprocess.run(command, cwd=place, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    return place / answer.stdout.strip().splitlines()[-1]


def main() -> int:
    if shutil.which("npm") is None:
        print("The modeler comes from the npm registry: install npm, or go on without it.", file=sys.stderr)
        return 1
    try:
        folder = fetch_all()
    except (subprocess.SubprocessError, WrongPackage) as failure:
        print(f"The modeler could not be brought: {failure}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"The modeler is there, {size / 1e6:.1f} MB: {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
