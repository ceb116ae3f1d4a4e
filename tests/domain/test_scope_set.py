"""How well scope is inferred on issues that people could have written: `pytest -s` prints the table."""

from tests.scope_set.measure import cases, figures, occurrences_of, outcomes, paths_of, table


def test_the_set_is_what_it_says() -> None:
    every = cases()
    assert len(every) >= 100 and sum(case.held_out for case in every) >= len(every) / 3
    assert len({case.layout for case in every}) >= 21
    for case in every:
        assert case.files
        known = occurrences_of(case.layout)
        files = (*known.definitions.values(), *known.mentions.values())
        assert set().union(*files) <= paths_of(case.layout)


def test_precision_and_recall_stay_what_they_are() -> None:
    told = outcomes()
    print(f"\n{table(told)}")
    seen = figures([one for one in told if not one.case.held_out])
    held_out = figures([one for one in told if one.case.held_out])
    every = figures(told)
    assert every.recall_macro >= 0.95 and every.precision_macro >= 0.5
    assert seen.recall_macro > 0.96 and held_out.recall_macro > 0.93
    explicit, directory, unrestricted = figures(told).modes
    assert explicit > directory > unrestricted
