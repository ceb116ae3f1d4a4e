"""Hints: each makes one poll due, and many are not more than one at a time."""

from overlord.engine.runtime.hint import QUIET_S, Hints

NOW = 1000.0


def test_a_hint_makes_one_poll_due() -> None:
    hints = Hints()
    assert not hints.is_due("a/b", NOW)
    assert hints.give("a/b") and not hints.give("a/b")
    assert hints.is_due("a/b", NOW) and not hints.is_due("a/c", NOW)
    assert hints.take("a/b", NOW)
    assert not hints.is_due("a/b", NOW + 3600)
    assert not hints.take("a/b", NOW + 3600)


def test_what_is_hinted_at_while_a_space_is_polled_is_due_when_it_was_quiet_for_a_while() -> None:
    hints = Hints()
    hints.give("a/b")
    hints.take("a/b", NOW)
    assert hints.next_delay_s(NOW) is None
    assert hints.give("a/b")
    assert not hints.is_due("a/b", NOW + QUIET_S - 0.1)
    assert hints.next_delay_s(NOW + 1) == QUIET_S - 1
    assert hints.is_due("a/b", NOW + QUIET_S)
    assert hints.next_delay_s(NOW + QUIET_S) is None


def test_a_poll_before_a_hint_is_due_uses_it_up_and_is_told_so() -> None:
    hints = Hints()
    hints.give("a/b")
    hints.take("a/b", NOW)
    hints.give("a/b")
    assert not hints.is_due("a/b", NOW + 1)
    assert hints.take("a/b", NOW + 1)
    assert not hints.is_due("a/b", NOW + QUIET_S)


def test_a_poll_that_nobody_hinted_at_puts_no_hint_off() -> None:
    hints = Hints()
    hints.take("a/b", NOW)
    hints.give("a/b")
    assert hints.is_due("a/b", NOW)
