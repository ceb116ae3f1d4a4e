"""Words that many projects have, and that say nothing about one of them."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ORDINARY_FILES = _words(
    """
    .dockerignore .editorconfig .env .env.example .gitattributes .gitignore .gitlab-ci.yml
    .pre-commit-config.yaml __init__.py __main__.py app.js app.py app.ts build.gradle cargo.lock
    cargo.toml changelog.md cmakelists.txt codeowners compose.yaml conftest.py contributing.md copying
    docker-compose.yml dockerfile errors.py gemfile gemfile.lock go.mod go.sum index.html index.js
    index.ts index.tsx justfile lib.rs license license.md license.txt main.c main.cpp main.go main.java
    main.js main.py main.rs main.ts main_test.go makefile manage.py mod.rs models.py noxfile.py
    package-lock.json package.json pipfile pnpm-lock.yaml poetry.lock pom.xml pyproject.toml rakefile
    readme readme.md readme.rst readme.txt requirements.txt security.md setup.cfg setup.py style.css
    styles.css test.py tests.py tox.ini tsconfig.json types.py utils.py uv.lock views.py yarn.lock
    """
)
"""Files that every project has."""

ORDINARY_NAMES = _words(
    """
    admin agent agents alpha api app apps array auth backend base beta bin bot build builder cache calc
    calculator cli client cloud code codes common config console core daemon data database demo desktop
    dev develop development docs document editor engine error errors example examples file files
    framework frontend function game git github gitlab group hello helper home host http image images
    index infra input issue issues java javascript json kernel language lib library linux local log
    logger logs main master mobile model models module monitor name names network node notes org orgs
    output owner package parser platform playground plugin plugins portal private process program project
    projects proxy public python query queue react release repo repository root router ruby runner rust
    sample samples schema script scripts search server service services session settings setup shell shop
    site source sql src start starter storage store string style swift system table task tasks team
    template templates test tester testing tests text todo token tool tools training type types update
    user users util utils value version view views web website widget wiki work worker world writer yaml
    """
)
"""Words of everyday speech in programs: a repository or an account that is called so is found by its full name alone."""

ORDINARY_IDENTIFIERS = _words(
    """
    arguments callback callbacks component configure connect container context controller decorator
    default deserialize document element exception execute expected factory fromdict fromjson fromstring
    function generate getattr handler handlers hashcode initialize isempty iterator keyerror listener
    message messages metadata middleware options parameter parameters position private process
    processdata processor property protected provider receive register request requests resolve response
    result results reverse runtimeerror serialize service setattr settings setup setupclass setupmodule
    storage subscribe teardown teardownclass teardownmodule template testcase todict toint tojson
    tostring transform typeerror validate validator valueerror version working wrapper
    """
)
"""What code is called everywhere, without its underscores."""
