"""Files in the encodings that tools save them in."""

import pytest

from processes.workflows.engine.bpmn.xml import parse_xml
from processes.workflows.engine.problems import InvalidDefinition


class TestEncodings:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("ISO-8859-2", "žluťoučký"),
            ("ISO-8859-9", "ığdır"),
            ("windows-1250", "źdźbło"),
            ("windows-1251", "Заказ"),
            ("GBK", "订单"),
            ("GB2312", "订单"),
            ("GB18030", "訂單"),
            ("Big5", "訂單"),
            ("Shift_JIS", "注文"),
            ("EUC-JP", "注文"),
            ("EUC-KR", "주문"),
            ("macintosh", "éà"),
            ("UTF-16", "Заказ"),
        ],
    )
    def test_what_the_file_declares_is_read(self, name: str, text: str) -> None:
        assert parse_xml(f'<?xml version="1.0" encoding="{name}"?><a b="{text}"/>'.encode(name)).get("b") == text

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_is_known_without_a_mark(self, encoding: str) -> None:
        assert parse_xml('<?xml version="1.0"?><a b="Заказ"/>'.encode(encoding)).get("b") == "Заказ"

    def test_what_cannot_be_utf_16_is_not_believed_to_be(self) -> None:
        source = '<?xml version="1.0" encoding="utf-16"?><a b="Заказ"/>'.encode()
        assert parse_xml(source).get("b") == "Заказ"

    @pytest.mark.parametrize("name", ["UTF-7", "zlib", "unicode_escape", "x-unknown"])
    def test_any_other_is_refused_with_what_to_do(self, name: str) -> None:
        with pytest.raises(InvalidDefinition, match=f"{name} is not supported: save the file as UTF-8"):
            parse_xml(f'<?xml version="1.0" encoding="{name}"?><a/>'.encode())
