"""Parse uploaded XML into plain elements, within bounds: size, depth, number of elements; no DOCTYPE, no network."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

from processes.workflows.engine.problems import InvalidDefinition, Problem

MAX_BYTES = 1_000_000
MAX_DEPTH = 100
MAX_ELEMENTS = 50_000
MAX_ATTRIBUTES = 200
"""Of one element."""


@dataclass(frozen=True, slots=True)
class XmlElement:
    """An element without its comments; `space` is its namespace, `line` where it begins in the file."""

    space: str
    name: str
    attributes: dict[str, str]
    """By name, those of another namespace as `{namespace}name`."""
    text: str
    children: tuple["XmlElement", ...]
    line: int

    @property
    def id(self) -> str:
        return self.attributes.get("id", "").strip()

    def get(self, name: str) -> str:
        """Return an attribute without surrounding space; empty when it is absent."""
        return self.attributes.get(name, "").strip()

    def all(self, name: str) -> Iterator["XmlElement"]:
        """Yield the children of that name in the element's own namespace."""
        return (child for child in self.children if child.name == name and child.space == self.space)

    def find(self, name: str) -> "XmlElement | None":
        return next(self.all(name), None)


def parse_xml(source: bytes) -> XmlElement:
    """Parse a file without its diagram; raises InvalidDefinition if it is malformed, too large or has a DOCTYPE."""
    return _convert(parse_tree(source))


def parse_tree(source: bytes) -> etree._Element:
    """Parse a file within the same bounds into lxml's own tree."""
    if len(source) > MAX_BYTES:
        raise _invalid(f"The file is larger than {MAX_BYTES} bytes.")
    text = _decode(source)
    _refuse_doctype(text)
    return _parse(text.encode())


_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARATION = re.compile(r"""\s*<\?xml\s[^>]{0,200}?\?>""")
_ENCODING = re.compile(rb"""\s*<\?xml\s[^>]{0,150}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
# Python's codecs include compressors and UTF-7: only plain character sets may be declared.
_ENCODINGS = frozenset(
    {"utf-8", "ascii", "koi8-r", "mac-roman"}
    | {f"iso8859-{part}" for part in (1, 2, 5, 7, 9, 15)}
    | {f"cp{page}" for page in (1250, 1251, 1252, 1253, 1254)}
    | {"gbk", "gb2312", "gb18030", "big5", "shift_jis", "cp932", "euc_jp", "euc_kr"}
)
_WIDE = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
"""How a file in UTF-16 begins that has no byte order mark."""
_BEFORE_ROOT = re.compile(r"\s+|<!--.*?-->|<\?.*?\?>", re.DOTALL)
_NO_DOCTYPE = "A DOCTYPE is not allowed."
_CHUNK = 16_384
_DIAGRAMS = ("}BPMNDiagram", "}CMMNDI")


def _invalid(message: str, line: int = 0) -> InvalidDefinition:
    return InvalidDefinition((Problem("", line, message),))


def _decode(source: bytes) -> str:
    """Decode by byte order mark or declaration, and blank the declaration out: the parser always gets UTF-8."""
    encoding, mark = next(((name, mark) for mark, name in _BOMS if source.startswith(mark)), ("", b""))
    encoding = encoding or next((name for begin, name in _WIDE if source.startswith(begin)), "")
    try:
        text = source[len(mark) :].decode(encoding or _declared_encoding(source))
    except UnicodeDecodeError as error:
        raise _invalid("The file is not in the encoding it claims to be in.") from error
    text = text.lstrip("\ufeff")
    match = _DECLARATION.match(text)
    return "\n" * match[0].count("\n") + text[match.end() :] if match else text


def _declared_encoding(source: bytes) -> str:
    match = _ENCODING.match(source)
    if match is None:
        return "utf-8"
    declared = match[1].decode("ascii")
    try:
        encoding = codecs.lookup(declared).name
    except LookupError:
        encoding = ""
    if encoding == "utf-16":
        # Read so far byte by byte, it is not in UTF-16: programs write texts of theirs out with this declaration.
        return "utf-8"
    if encoding not in _ENCODINGS:
        raise _invalid(f"The encoding {declared} is not supported: save the file as UTF-8.")
    return encoding


def _refuse_doctype(text: str) -> None:
    """Refuse a DOCTYPE before the parser sees it: entities are declared nowhere else."""
    at = 0
    while skipped := _BEFORE_ROOT.match(text, at):
        at = skipped.end()
    if text.startswith("<!", at) and not text.startswith("<!--", at):
        raise _invalid(_NO_DOCTYPE, text.count("\n", 0, at) + 1)


def _parse(source: bytes) -> etree._Element:
    """Parse in chunks, so that a file beyond the bounds is refused before it is a tree in memory."""
    # Entities, DTDs and the network stay closed, although a file with a DOCTYPE does not get here.
    parser = etree.XMLPullParser(
        events=("start", "end"),
        encoding="utf-8",
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    bounds = _Bounds()
    try:
        for at in range(0, len(source), _CHUNK):
            parser.feed(source[at : at + _CHUNK])
            for event, element in parser.read_events():
                bounds.check(event, element)
        root = parser.close()
    except etree.XMLSyntaxError as error:
        raise _explain(error, source.decode()) from error
    # What the parser found itself: the check before it only scans the text.
    if root.getroottree().docinfo.internalDTD is not None:
        raise _invalid(_NO_DOCTYPE)
    return root


_ENTITY = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|&(?!(?:amp|lt|gt|apos|quot);)([^\W\d][\w.-]*);", re.DOTALL)


def _explain(error: etree.XMLSyntaxError, text: str) -> InvalidDefinition:
    """Return what is wrong with a text that the parser has refused; of some errors it says neither what nor where."""
    if not text.strip():
        return _invalid("The file is empty.", 1)
    if not error.lineno:
        unknown = next((match for match in _ENTITY.finditer(text) if match[1]), None)
        if unknown is not None:
            message = f"XML has no entity “&{unknown[1][:50]};”: write the character itself."
            return _invalid(message, text.count("\n", 0, unknown.start()) + 1)
    message = f"The file is not well-formed XML: {error.msg or 'it ends early'}"[:300]
    return _invalid(message, error.lineno or text.count("\n") + 1)


@dataclass(slots=True)
class _Bounds:
    depth: int = 0
    elements: int = 0

    def check(self, event: str, element: etree._Element) -> None:
        if event == "end":
            self.depth -= 1
            return
        self.depth += 1
        self.elements += 1
        if self.depth > MAX_DEPTH:
            raise _invalid(f"The elements are nested more than {MAX_DEPTH} deep.", element.sourceline)
        if self.elements > MAX_ELEMENTS:
            raise _invalid(f"The file has more than {MAX_ELEMENTS} elements.", element.sourceline)
        # lxml reads attributes in the square of their number; counting them does not.
        if len(element.attrib) > MAX_ATTRIBUTES:
            raise _invalid(f"An element has more than {MAX_ATTRIBUTES} attributes.", element.sourceline)


def _convert(node: etree._Element) -> XmlElement:
    # The parser has bounded the depth of this recursion.
    space, _, name = node.tag.rpartition("}")
    elements = (child for child in node if isinstance(child.tag, str))
    children = tuple(_convert(child) for child in elements if not child.tag.endswith(_DIAGRAMS))
    return XmlElement(
        space=space.removeprefix("{"),
        name=name,
        attributes=dict(node.attrib.items()),
        text=(node.text or "").strip(),
        children=children,
        line=node.sourceline or 0,
    )
