"""Keep retired texts off the pages: `python -m tests.retired_texts`, part of `make check`.

`docs/glossary.md` has one term for each thing, in both languages; these are what readers stumbled over before.
"""

import re
import sys
from collections.abc import Iterator

import polib

from tests.translations import CATALOG, PLACEHOLDER

RETIRED_ENGLISH = (
    r"there is no such",
    r"under that name",
    r"\bgiven up\b",
    r"on (its|their) way\b(?! to)",
    r"\bheld back\b",
    r"\bprobe\b",
    r"\brungs?\b",
    r"\bladder\b",
    r"\bfollowers?\b",
    r"\bin whose hands\b",
    r"\bstands? in line\b",
    r"\bEmpty:",
    r"\bby name\. ",
    r"\bfull height\b",
    r"\bended last\b",
    r"\ball together\b",
    r"\bneeded no changes?\b",
    r"\bwhat one call caused\b",
    r"\bkey (has|is) ended\b|\bend (this )?key\b",
    r"\bbrought? back\b",
    r"\bput right\b",
    r"\bby itself\b",
    r"\bthat would be a circle\b",
    r"^mails about tasks\b",
    r"\bswitch these mails\b",
    r"^behind:",
    r"\bwhich is the evidence itself\b",
    r"\bno pattern that can be\b|\bno number of a revision\b",
    r"\bhas no len\b|\b(numbers|texts) alone\b",
    r"\bhears no\b|\bthere were enough\b|\bparted here\b",
    r"^what became of them$",
    r"\btoo long, or too long ago\b",
    r"\blonger than it may be\b",
    r"^further$",
    r"^began$|\bfirst to last step\b",
    r"^done: .* being resent\b",
)
RETIRED_RUSSIAN = (
    r"писател",
    r"читател",
    r"\bнагрузк(и|ок|ам)\b",
    r"^откачено",
    r"\bпредмет",
    r"приглуш",
    r"\bкруг\b",
    r"\bсесси",
    r"идентификатор цепочки|идентификатор корреляции|сквозной номер",
    r"по этому имени",
    r"шаги оповещения",
    r"ревизи",
    r"маркер",
    r"датчик не действует",
    r"экземпляры? бизнес-процесс",
    r"спросите ровно по",
    r"^нет: ничто",
)


def main() -> int:
    problems = [problem for entry in polib.pofile(str(CATALOG)) for problem in find_problems(entry)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def find_problems(entry: polib.POEntry) -> Iterator[str]:
    """Say which retired words a text of the catalog uses; names of placeholders are nobody's reading."""
    translations = [entry.msgstr, *entry.msgstr_plural.values()]
    for retired, texts in ((RETIRED_ENGLISH, [entry.msgid, entry.msgid_plural]), (RETIRED_RUSSIAN, translations)):
        for text in filter(None, texts):
            read = PLACEHOLDER.sub("", text)
            for pattern in retired:
                if found := re.search(pattern, read, re.IGNORECASE):
                    yield f"{text!r}: “{found.group()}” is retired, docs/glossary.md says what stands instead"


if __name__ == "__main__":
    sys.exit(main())
