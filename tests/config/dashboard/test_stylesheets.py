"""Stylesheets that one page loads together say each class once: what one page needs must not show on another."""

import re
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

FOLDER = Path(settings.BASE_DIR) / "config" / "dashboard" / "assets" / "postern"
SHEET = re.compile(r"postern/(\w+\.css)")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
NARROW = re.compile(r"@media[^{]+\{(?:[^{}]*\{[^{}]*\})*\s*\}", re.DOTALL)
RULE = re.compile(r"(?:^|\})\s*\.(pst-[\w-]+)\s*\{", re.MULTILINE)


def find_sets() -> list[tuple[str, ...]]:
    """Return the stylesheets of each admin class and each page that has several."""
    root = Path(settings.BASE_DIR)
    files = [*root.glob("*/admin/**/*.py"), *root.glob("processes/*/admin/**/*.py"), *root.glob("templates/**/*.html")]
    found = {tuple(dict.fromkeys(SHEET.findall(file.read_text(encoding="utf-8")))) for file in files}
    return sorted(sheets for sheets in found if len(sheets) > 1)


def classes_of(sheet: str) -> set[str]:
    text = COMMENT.sub("", (FOLDER / sheet).read_text(encoding="utf-8"))
    return set(RULE.findall(NARROW.sub("", text)))


@pytest.mark.parametrize("sheets", find_sets(), ids=" ".join)
def test_a_class_is_said_by_one_of_them(sheets: tuple[str, ...]) -> None:
    said = Counter(name for sheet in sheets for name in classes_of(sheet))
    assert [name for name, count in said.items() if count > 1] == []
