"""The next version of Overlord, as a program: it has one more migration, and is the same in everything else.

python -m tests.faults.next_version serve
"""

from overlord.store.schema import migrations

MORE = (
    "CREATE TABLE news (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT",
    "INSERT INTO news (text) VALUES ('new')",
)


def main() -> None:
    """Before anything else knows how many there are."""
    vars(migrations)["MIGRATIONS"] = (*migrations.MIGRATIONS, MORE)
    vars(migrations)["LATEST"] = len(migrations.MIGRATIONS)
    migrations.migrate.__kwdefaults__ = {"target": migrations.LATEST}
    from overlord.entrypoints.cli.main import main as overlord

    overlord()


if __name__ == "__main__":
    main()
