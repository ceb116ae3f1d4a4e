"""How well scope is inferred on issues that people could have written: `pytest -s` prints the table."""

from tests.scope_set.measure import cases, figures, outcomes, paths_of, symbols_of, table


def test_the_set_is_what_it_says() -> None:
    every = cases()
    assert len(every) >= 72 and sum(case.held_out for case in every) * 3 == len(every)
    assert len({case.layout for case in every}) >= 8
    for case in every:
        assert case.files
        assert set().union(*symbols_of(case.layout).values()) <= paths_of(case.layout)


def test_precision_and_recall_stay_what_they_are() -> None:
    told = outcomes()
    print(f"\n{table(told)}")
    seen = figures([one for one in told if not one.case.held_out])
    held_out = figures([one for one in told if one.case.held_out])
    assert seen.recall_macro > 0.90 and seen.precision_macro > 0.55
    assert held_out.recall_macro > 0.80 and held_out.precision_macro > 0.40
    explicit, directory, unrestricted = figures(told).modes
    assert explicit > directory > unrestricted
