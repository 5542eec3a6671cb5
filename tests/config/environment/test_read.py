import pytest

from config.environment.read import read_environment
from config.environment.rules import BadVariable


class TestRead:
    def test_an_empty_environment_is_the_embedded_profile(self) -> None:
        found = read_environment({})
        assert (found.port, found.database, found.amqp_url, found.web_concurrency) == (8000, None, None, 32)
        assert found.public_url.geturl() == "http://127.0.0.1:8000"

    def test_an_empty_variable_counts_as_unset(self) -> None:
        assert read_environment({"DATABASE_URL": " ", "PORT": ""}).port == 8000

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "eighty"),
            ("PORT", "0"),
            ("PORT", "65536"),
            ("PORT", "-1"),
            ("PORT", "9" * 5000),
            ("PORT", "８０"),
            ("DATABASE_URL", "mysql://h/db"),
            ("DATABASE_URL", "postgresql://h"),
            ("DATABASE_URL", "postgresql:///db"),
            ("DATABASE_URL", "postgresql://h:port/db"),
            ("DATABASE_URL", "postgresql://h1,:5/db"),
            ("READER_DATABASE_URL", "sqlite:///x"),
            ("READER_DATABASE_URL_a-b", "postgresql://h/db"),
            ("AMQP_URL", "http://h"),
            ("AMQP_URL", "amqp://"),
            ("AMQP_URL", "amqp://h:notaport"),
            ("REDIS_URL", "localhost:6379"),
            ("CLICKHOUSE_URL", "http://h:8123"),
            ("EMAIL_URL", "mail@h"),
            ("SMS_URL", "ftp://h"),
            ("SMS_METHOD", "DELETE"),
            ("SMS_HEADERS", "authorization: x"),
            ("SMS_HEADERS", '["x"]'),
            ("SMS_HEADERS", '{"x": 1}'),
            ("SMS_HEADERS", '{"x": "a\\nb"}'),
            ("SMS_HEADERS", '{"a b": "x"}'),
            ("EMAIL_FROM", "Postern"),
            ("ADMIN_EMAIL", "one@h, two@h"),
            ("ADMIN_EMAIL", "a@b\nBcc: c@d"),
            ("ADMIN_PHONE", "call me"),
            ("ADMIN_PHONE", "+1234"),
            ("PUBLIC_URL", "postern.example"),
            ("PUBLIC_URL", "https://h/path"),
            ("PUBLIC_URL", "https://[h"),
            ("SECRET_KEY", "short"),
            ("FIELD_KEYS", "not-base64!"),
            ("FIELD_KEYS", "c2hvcnQ="),
            ("KEY_RATE", "0"),
            ("ENTERPRISE_RATE", "10000001"),
            ("FAILED_KEY_RATE", "0"),
            ("WEB_CONCURRENCY", "many"),
            ("METRICS_ALLOWED_NETWORKS", "10.0.0.1/8"),
            ("SESSION_IDLE_MINUTES", "0"),
            ("SESSION_IDLE_MINUTES", "20161"),
            ("FORWARDED_ALLOW_IPS", "*"),
            ("FORWARDED_ALLOW_IPS", "proxy"),
            ("WEBHOOK_ALLOWED_NETWORKS", "10.0.0.0/8,intranet"),
            ("MESSAGE_MAX_MB", "0"),
            ("EVENT_DAYS", "0"),
            ("RETENTION_DAYS", "3651"),
            ("LOG_LEVEL", "loud"),
            ("DATA_DIR", __file__),
        ],
    )
    def test_a_wrong_variable_is_named_with_its_rule_in_one_line(self, name: str, value: str) -> None:
        with pytest.raises(BadVariable) as caught:
            read_environment({name: value})
        assert str(caught.value).startswith(f"{name}: ")
        assert "\n" not in str(caught.value)

    def test_an_sms_gateway_is_told_the_number_and_the_text(self) -> None:
        with pytest.raises(BadVariable, match=r"SMS_BODY: must hold \{to\} and \{text\}"):
            read_environment({"SMS_URL": "https://h/", "SMS_BODY": "to={to}"})
        with pytest.raises(BadVariable, match="SMS_URL: must hold"):
            read_environment({"SMS_URL": "https://h/?to={to}", "SMS_METHOD": "get", "SMS_BODY": "{text}"})
        found = read_environment(
            {"SMS_URL": "https://h/?to={to}&m={text}", "SMS_METHOD": "get", "SMS_HEADERS": '{"x": "y"}'}
        )
        assert (found.sms_method, found.sms_headers, found.sms_body) == ("GET", {"x": "y"}, "")
        assert read_environment({"SMS_URL": "https://h/"}).sms_body == '{"to": "{to}", "text": "{text}"}'

    def test_a_telephone_number_loses_what_people_write_between_digits(self) -> None:
        assert read_environment({"ADMIN_PHONE": "+375 (29) 123-45-67"}).admin_phone == "+375291234567"

    def test_several_hosts_are_tried_until_one_takes_writes(self) -> None:
        address = read_environment({"DATABASE_URL": "postgresql://u:p%40@h1:5433,h2/db?sslmode=require"}).database
        assert address is not None
        assert (address.hosts, address.ports, address.password) == ("h1,h2", "5433,5432", "p@")
        assert address.options == {"sslmode": "require", "target_session_attrs": "read-write"}

    @pytest.mark.parametrize(("query", "wanted"), [("", "read-write"), ("?target_session_attrs=any", "any")])
    def test_one_host_must_take_writes_too_unless_told_otherwise(self, query: str, wanted: str) -> None:
        address = read_environment({"DATABASE_URL": f"postgresql://h/db{query}"}).database
        assert address is not None
        assert address.options == {"target_session_attrs": wanted}

    def test_an_ipv6_host_keeps_its_colons(self) -> None:
        address = read_environment({"DATABASE_URL": "postgresql://u@[::1]:5433/db"}).database
        assert address is not None
        assert (address.hosts, address.ports) == ("::1", "5433")

    def test_readers_are_named_by_their_variables(self) -> None:
        readers = read_environment(
            {"READER_DATABASE_URL": "postgresql://h/a", "READER_DATABASE_URL_EAST": "postgresql://h/b"}
        ).readers
        assert {name: address.name for name, address in readers.items()} == {"main": "a", "east": "b"}
