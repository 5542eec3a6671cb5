from lxml import etree

from processes.workflows.admin.version_tree.draw import Addresses, draw_tree
from processes.workflows.admin.version_tree.layout import lay_out

ADDRESSES = Addresses(version=lambda number: f"/v/{number}/", older=lambda number: f"?before={number}")
LINK = "{http://www.w3.org/2000/svg}a"


def draw(head: int, returns: dict[int, int], titles: dict[int, str] | None = None) -> etree._Element:
    return etree.fromstring(draw_tree(lay_out(head, returns), titles or {}, ADDRESSES))


class TestDrawTree:
    def test_each_version_is_a_link_that_says_what_happened(self) -> None:
        links = draw(2, {}, {2: "Task “<Check>” completed · anna"}).findall(LINK)
        assert [(link.get("href"), link.get("aria-label")) for link in links] == [
            ("/v/1/", "Version 1"),
            ("/v/2/", "Version 2: Task “<Check>” completed · anna"),
        ]

    def test_the_head_is_marked_and_what_was_left_too(self) -> None:
        links = draw(4, {4: 1}).findall(LINK)
        assert [link.get("class") for link in links] == ["pst-node", *["pst-node pst-left"] * 2, "pst-node pst-head"]
        assert [link.get("aria-current") for link in links] == [None, None, None, "true"]

    def test_what_is_left_out_is_a_link_to_its_list(self) -> None:
        gap = draw(1000, {}).findall(LINK)[0]
        assert (gap.get("href"), gap.get("aria-label")) == ("?before=961", "959 earlier versions")

    def test_nothing_lies_outside_of_it(self) -> None:
        svg = draw(100_000, {number: number - 7 for number in range(40, 2000, 50)})
        width, height = float(svg.get("width", "")), float(svg.get("height", ""))
        for circle in svg.iter("{http://www.w3.org/2000/svg}circle"):
            assert 8 <= float(circle.get("cx", "")) <= width - 8
            assert 8 <= float(circle.get("cy", "")) <= height - 8
