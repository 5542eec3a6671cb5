import pytest

from config.common.web.networks import network_of


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no:address", "unknown"),
        ("", "unknown"),
    ],
)
def test_is_the_address_or_the_64_bits_of_one_subscriber(address: str, network: str) -> None:
    assert network_of(address) == network
