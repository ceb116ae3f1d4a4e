from till import total


def test_prices_are_added():
    assert total([250, 199]) == 449


def test_ten_percent_off():
    assert total([1000], discount=10) == 900
