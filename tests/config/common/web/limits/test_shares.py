import pytest

from config.common.web.limits.shares import Caller, Shares, Standing

ANNE, BEN = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
PROXY = Caller("10.0.0.1", Standing.CROWD)


def fill(shares: Shares, caller: Caller) -> int:
    """Take as often as is granted; return how often that was."""
    taken = 0
    while shares.take(caller):
        taken += 1
    return taken


def stranger(number: int) -> Caller:
    return Caller(f"192.0.2.{number}", Standing.STRANGER)


class TestTake:
    def test_one_alone_gets_a_third_and_the_next_still_finds_some(self) -> None:
        shares = Shares(30)
        assert (fill(shares, ANNE), fill(shares, BEN)) == (10, 7)

    def test_a_newcomer_finds_some_beside_a_few_that_take_all_they_get(self) -> None:
        shares = Shares(30)
        for number in range(8):
            assert fill(shares, Caller(f"greedy {number}", Standing.KNOWN)) >= 1
        assert shares.take(ANNE)

    def test_as_they_give_back_and_take_again_all_of_many_have_some_and_some_is_free(self) -> None:
        shares = Shares(30)
        crowd = [Caller(f"greedy {number}", Standing.KNOWN) for number in range(20)]
        for _ in range(20):
            for caller in crowd:
                if shares.held_by(caller) > 1:
                    shares.give_back(caller)
                fill(shares, caller)
        assert {shares.held_by(caller) for caller in crowd} <= {1, 2}
        assert shares.take(ANNE)

    def test_the_last_one_goes_to_somebody(self) -> None:
        shares = Shares(1)
        assert shares.take(ANNE)
        assert not shares.take(BEN)

    def test_strangers_together_get_half_and_the_known_the_rest(self) -> None:
        shares = Shares(30)
        assert sum(fill(shares, stranger(number)) for number in range(100)) == 15
        assert shares.take(ANNE)

    def test_a_proxy_gets_all_that_is_free(self) -> None:
        assert fill(Shares(30, each=5), PROXY) == 30

    def test_each_gets_no_more_than_its_most(self) -> None:
        assert fill(Shares(30, each=3), ANNE) == 3

    @pytest.mark.parametrize(("amount", "fits"), [(50, True), (51, False)])
    def test_an_amount_counts_as_a_whole(self, amount: int, fits: bool) -> None:
        assert Shares(100).take(ANNE, amount) == fits


class TestGiveBack:
    @pytest.mark.parametrize("caller", [ANNE, PROXY, stranger(1)])
    def test_nothing_is_left_of_it(self, caller: Caller) -> None:
        shares = Shares(30)
        taken = fill(shares, caller)
        for _ in range(taken):
            shares.give_back(caller)
        assert shares.held_by(caller) == 0
        assert fill(shares, caller) == taken
