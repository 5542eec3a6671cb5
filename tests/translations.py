"""Show that the Russian translation is complete: every text of the code, good form, compiled as it stands.

`python -m tests.translations` checks; with `--update` it first adds what is missing to the .po (untranslated), drops
what no code uses any more and compiles the .mo. Needs xgettext; the product itself needs only the committed .mo.
"""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib

ROOT = Path(__file__).resolve().parent.parent
CATALOG = ROOT / "locale" / "ru" / "LC_MESSAGES" / "django.po"
COMPILED = CATALOG.with_suffix(".mo")
NOT_THE_PRODUCT = {"tests", "bench", "var", "docs", "locale", "__pycache__"}
# Beside what holds no texts: parts of the theme that stand in for apps that are not installed here.
NO_TEXTS = (
    "__pycache__",
    "static",
    "locale",
    "constance",
    "guardian",
    "import_export",
    "location_field",
    "simple_history",
)
PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]|\{(\w*)\}")

Text = tuple[str | None, str, str]
"""Context, singular, plural."""


def main(arguments: list[str]) -> int:
    texts = product_texts()
    if "--update" in arguments:
        update(texts)
    problems = [*find_gaps(texts), *find_bad_entries(), *find_stale_binary()]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{len(problems)} problems in {CATALOG.relative_to(ROOT)}", file=sys.stderr)
    return 1 if problems else 0


def product_texts() -> set[Text]:
    """Return every text that the product may show: of its code, its errors, its schedule and its theme."""
    hidden = {(None, text, "") for text in (*_error_messages(), *_sentences())}
    return extract(list(_product_folders())) | hidden | _theme_texts()


def extract(folders: list[Path]) -> set[Text]:
    """Collect what `gettext` calls and templates name, in a copy: `makemessages` writes beside what it reads."""
    with tempfile.TemporaryDirectory(prefix="postern-texts-") as copy:
        for folder in folders:
            shutil.copytree(folder, Path(copy) / folder.name, ignore=shutil.ignore_patterns(*NO_TEXTS))
        (Path(copy) / "locale").mkdir()
        command = [sys.executable, "-m", "django", "makemessages", "--locale=ru", "--no-location", "--no-wrap"]
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True)
        found = polib.pofile(str(Path(copy) / "locale" / "ru" / "LC_MESSAGES" / "django.po"))
    return {_text(entry) for entry in found if not entry.obsolete and entry.msgid.strip()}


def _text(entry: polib.POEntry) -> Text:
    return entry.msgctxt, entry.msgid, entry.msgid_plural or ""


def _product_folders() -> Iterator[Path]:
    for folder in sorted(ROOT.iterdir()):
        if folder.is_dir() and folder.name not in NOT_THE_PRODUCT and not folder.name.startswith("."):
            yield folder


def _error_messages() -> set[str]:
    """Return the docstrings of all errors of the product: they are what callers read."""
    classes = [node for tree in _modules() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    errors = {"ApplicationError"}
    while found := {node.name for node in classes if _bases(node) & errors} - errors:
        errors |= found
    return {" ".join((ast.get_docstring(node) or "").split()) for node in classes if node.name in errors} - {""}


def _bases(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).rpartition(".")[2] for base in node.bases}


def _modules() -> Iterator[ast.Module]:
    for folder in _product_folders():
        for file in folder.rglob("*.py"):
            yield ast.parse(file.read_text(encoding="utf-8"))


def _sentences() -> set[str]:
    """Return what staff read of each entry of the schedule."""
    table = ast.parse((ROOT / "config" / "schedule.py").read_text(encoding="utf-8"))
    keywords = [node for node in ast.walk(table) if isinstance(node, ast.keyword) and node.arg == "sentence"]
    return {str(ast.literal_eval(keyword.value)) for keyword in keywords}


def _theme_texts() -> set[Text]:
    """Return the theme's texts that Django does not bring in Russian: the theme has no translations of its own."""
    texts = extract([_installed("unfold")])
    catalogs = (
        _installed("django") / place / "ru" / "LC_MESSAGES" / "django.po"
        for place in ("conf/locale", "contrib/admin/locale", "contrib/auth/locale")
    )
    return texts - {_text(entry) for file in catalogs for entry in polib.pofile(str(file)).translated_entries()}


def _installed(package: str) -> Path:
    specification = importlib.util.find_spec(package)
    assert specification is not None
    assert specification.origin is not None
    return Path(specification.origin).parent


def update(texts: set[Text]) -> None:
    catalog = polib.pofile(str(CATALOG), wrapwidth=0)
    entries = {_text(entry): entry for entry in catalog}
    catalog[:] = [
        entries.get(text) or _new_entry(text) for text in sorted(texts, key=lambda text: (text[1], text[0] or ""))
    ]
    catalog.save(str(CATALOG))
    COMPILED.write_bytes(catalog.to_binary())


def _new_entry(text: Text) -> polib.POEntry:
    context, singular, plural = text
    forms = {number: "" for number in range(4)} if plural else {}
    return polib.POEntry(msgctxt=context, msgid=singular, msgid_plural=plural, msgstr_plural=forms)


def find_gaps(texts: set[Text]) -> list[str]:
    """Name the texts that the catalog lacks and the entries that no code uses."""
    present = {_text(entry) for entry in polib.pofile(str(CATALOG))}
    missing = [f"missing: {text[1]!r}" for text in sorted(texts - present, key=lambda text: text[1])]
    return missing + [f"no longer used: {text[1]!r}" for text in sorted(present - texts, key=lambda text: text[1])]


def find_bad_entries() -> list[str]:
    problems = []
    for entry in polib.pofile(str(CATALOG)):
        translations = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
        if entry.fuzzy:
            problems.append(f"fuzzy: {entry.msgid!r}")
        if not all(translations):
            problems.append(f"untranslated: {entry.msgid!r}")
        elif any(_placeholders(text) - _placeholders(entry.msgid + entry.msgid_plural) for text in translations):
            problems.append(f"unknown placeholder: {entry.msgid!r}")
        elif not entry.msgid_plural and _placeholders(entry.msgid) != _placeholders(entry.msgstr):
            problems.append(f"lost placeholder: {entry.msgid!r}")
    return problems


def _placeholders(text: str) -> set[str]:
    return {match.group() for match in PLACEHOLDER.finditer(text)}


def find_stale_binary() -> list[str]:
    """Compare the .mo with what the .po compiles to: a bare machine has no compiler, so it is committed."""
    if COMPILED.exists() and COMPILED.read_bytes() == polib.pofile(str(CATALOG)).to_binary():
        return []
    return ["the .mo is not what the .po says: run `python -m tests.translations --update`"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
