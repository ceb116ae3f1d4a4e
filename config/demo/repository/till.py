"""Adds up a basket."""


def total(prices, discount=0):
    """The sum of `prices` in cents, less `discount` percent, rounded to whole cents."""
    full = sum(prices)
    return full - full * discount // 10
