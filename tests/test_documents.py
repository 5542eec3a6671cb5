"""What the documents name is there: files of the repository, links with their headings, the engines of the table."""

import re
import subprocess
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
DOCUMENTS = [name for name in TRACKED if name.endswith(".md") and name != "CHANGELOG.md"]
"""The log of changes speaks of what was there then."""
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"[\w*-][\w.*-]*(/[\w.*-]+)*\.(py|sql|md|js|json|html|toml|txt|yaml)")
FOLDER = re.compile(r"[a-z][\w-]*(/[\w-]+)*/")
MODULE = re.compile(r"[a-z][\w-]*(/[\w-]+)+")
ELSEWHERE = {
    "CONTRIBUTING.md": {"a/b.py", "tests/a/test_b.py", "tests/a/b/"},  # how a test is named
    "docs/first-call.md": {"receive.py", "call.py", "client.json"},  # what its reader makes
    "docs/plugins.md": {"plugin.py"},
}
"""Names of what is not in the repository."""
PLACES = {str(place) for name in TRACKED for place in [PurePosixPath(name), *PurePosixPath(name).parents]}
VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+_(?:URL|RATE|DAYS|MB|FILES|SECONDS|TIMEOUT|DIR)(?:_<NAME>)?)`")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_and_folder_that_it_names_is_there(name: str) -> None:
    text = _read_prose(name)
    named = {part for part in CODE.findall(text) if FILE.fullmatch(part) or FOLDER.fullmatch(part)}
    assert sorted(part for part in named - ELSEWHERE.get(name, set()) if not _is_there(part)) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_module_that_it_names_by_its_folder_is_there(name: str) -> None:
    around = ((ROOT / name).parent, ROOT)
    modules = [part for part in CODE.findall(_read_prose(name)) if MODULE.fullmatch(part)]
    ours = [part for part in modules if any((folder / part.partition("/")[0]).is_dir() for folder in around)]
    assert [part for part in ours if not _is_there(part) and not _is_there(f"{part}.py")] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_link_leads_somewhere(name: str) -> None:
    links = [link for link in LINK.findall(_read_prose(name)) if not re.match("[a-z]+:", link)]
    assert [link for link in links if not _leads(name, link)] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_variable_that_it_names_is_in_the_configuration(name: str) -> None:
    configuration = (ROOT / "docs" / "configuration.md").read_text()
    assert sorted({each for each in VARIABLE.findall(_read_prose(name)) if f"`{each}`" not in configuration}) == []


def _read_prose(name: str) -> str:
    return re.sub(r"^ *```.*?^ *```", "", (ROOT / name).read_text(), flags=re.DOTALL | re.MULTILINE)


def _is_there(part: str) -> bool:
    """Return whether a path has this end: a document names files from the folder that it is about."""
    pattern = re.compile(rf"(.*/)?{re.escape(part.rstrip('/')).replace(re.escape('*'), '[^/]*')}")
    return any(pattern.fullmatch(place) for place in PLACES)


def _leads(name: str, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = (ROOT / name).parent / path if path else ROOT / name
    if not target.exists():
        return False
    headings = re.findall("^#+ (.*)$", target.read_text(), re.MULTILINE) if heading else []
    return not heading or heading in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
