"""Texts that expressions spell by escapes, as every database keeps them: without NUL and halves of characters.

The rule of `config.common.text`, which the engine may not import; a test holds both together.
"""

import re

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def join_pairs(text: str) -> str | None:
    """Return the text with each surrogate pair as its character; None if NUL or half of a pair is left."""
    joined = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    return None if _UNSTORABLE.search(joined) else joined
