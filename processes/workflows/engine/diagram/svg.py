"""Elements of an SVG. Everything that is written goes through here, as attributes and text of a tree."""

from lxml import etree

SVG = "http://www.w3.org/2000/svg"


def add(parent: etree._Element, tag: str, **attributes: str | float) -> etree._Element:
    """Add an element; underscores in the names of attributes are hyphens."""
    child = etree.SubElement(parent, f"{{{SVG}}}{tag}")
    for name, value in attributes.items():
        child.set(name.replace("_", "-"), value if isinstance(value, str) else write_number(value))
    return child


def add_text(parent: etree._Element, tag: str, text: str, **attributes: str | float) -> etree._Element:
    child = add(parent, tag, **attributes)
    child.text = text
    return child


def add_group(
    parent: etree._Element, x: float, y: float, scale: float = 1, **attributes: str | float
) -> etree._Element:
    """Add a group with an origin, and a scale, of its own."""
    move = f"translate({write_number(x)} {write_number(y)})"
    size = "" if scale == 1 else f" scale({write_number(scale)})"
    return add(parent, "g", transform=move + size, **attributes)


def polyline(*points: tuple[float, float], closed: bool = False) -> str:
    """Write the data of a path through the points."""
    corners = [f"{write_number(x)} {write_number(y)}" for x, y in points]
    return "M" + "L".join(corners) + ("Z" if closed else "")


def write_number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
