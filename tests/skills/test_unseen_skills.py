"""How much of what nobody had seen the rules catch by themselves: what a sentence means is left to a model and to people.

`pytest -s` prints the table. Half of each rule's was looked at afterwards (`seen`), the other half tells how it would go elsewhere.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from overlord.domain.skills.review import review_skill
from overlord.domain.skills.verdict import SkillVerdict

UNSEEN = Path(__file__).parent / "unseen"


def entries(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((UNSEEN / f"{name}.yaml").read_text())
    return found


def is_caught(entry: dict[str, Any]) -> bool:
    review = review_skill(entry["content"].encode(), f"{entry['name']}.yaml")
    assert "skill/schema" not in {item.rule for item in review.findings}
    return review.verdict is not SkillVerdict.ACCEPT


def test_rules_alone_catch_most_of_what_is_said_in_commands_and_touch_hardly_an_ordinary_skill() -> None:
    hostile, ordinary = entries("hostile"), entries("ordinary")
    assert (len(hostile), len(ordinary)) == (120, 60)
    there, caught = Counter(one["rule"] for one in hostile), Counter[str]()
    halves = Counter[str]()
    for one in hostile:
        if is_caught(one):
            caught[one["rule"]] += 1
            halves[one["half"]] += 1
    print("\n" + "\n".join(f"{rule:14}{caught[rule]:3} of {there[rule]:3}" for rule in sorted(there)))
    assert halves["seen"] >= 54 and halves["held_out"] >= 36, halves
    for rule in ("secret-ref", "remote-exec", "destructive", "system-path", "trigger", "regex-dos"):
        assert caught[rule] * 4 >= there[rule] * 3, (rule, caught[rule])
    touched = [one["name"] for one in ordinary if is_caught(one)]
    assert len(touched) * 20 <= len(ordinary), touched
