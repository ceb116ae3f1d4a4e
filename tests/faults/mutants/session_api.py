"""Defences of what sessions reach: their listener, the home it is in, and the daemon they share."""

from tests.faults.mutants.mutant import Mutant

LISTENER = "tests/door/test_listener.py"
HOME = "tests/store/test_home_closed.py"
SESSION_API = (
    Mutant(
        name="a session has so many connections and no more",
        file="overlord/http_server.py",
        before="if len(self._members) >= self._allowed():",
        after="if self._allowed() < 0:",
        tests=(
            f"{LISTENER}::test_where_every_connection_asks_something_a_further_one_is_refused",
            "--timeout=20",
        ),
        says="503|Timeout",
    ),
    Mutant(
        name="a header has to come within its time",
        file="overlord/http_server.py",
        before='        self._start_timer("header", limits.header_s)\n',
        after="",
        tests=(
            f"{LISTENER}::test_a_connection_without_a_whole_header_is_closed_after_a_while",
            "--timeout=20",
        ),
        says="Timeout",
    ),
    Mutant(
        name="accepting rests while there is no descriptor",
        file="overlord/http_server.py",
        before="        loop.remove_reader(listening.fileno())\n        self._listening[listening]",
        after="        log.warning('again')\n        self._listening[listening]",
        tests=(f"{LISTENER}::test_without_a_descriptor_accepting_rests_is_said_once_and_goes_on",),
        says="again",
    ),
    Mutant(
        name="sessions leave the daemon descriptors",
        file="overlord/door/limits.py",
        before="SHARE_OF_DESCRIPTORS = 0.5",
        after="SHARE_OF_DESCRIPTORS = 50",
        tests=(f"{LISTENER}::test_all_sessions_together_leave_the_daemon_half_of_its_descriptors",),
        says="assert",
    ),
    Mutant(
        name="a session holds so much memory of the daemon and no more",
        file="overlord/door/limits.py",
        before="if self._held_bytes + count > self._most_bytes:",
        after="if count > self._most_bytes:",
        tests=(f"{LISTENER}::test_the_requests_of_one_session_hold_so_much_memory_and_no_more",),
        says="DID NOT RAISE",
    ),
    Mutant(
        name="requests of a session wait for their turn",
        file="overlord/door/listener.py",
        before="            await self._turns.acquire()\n",
        after="            pass\n",
        tests=(f"{LISTENER}::test_requests_over_the_limit_wait_for_their_turn",),
        says="assert 3 == 1",
    ),
    Mutant(
        name="requests that wait are so many and no more",
        file="overlord/door/listener.py",
        before="if self._waiting >= self._most_waiting:",
        after="if self._waiting < 0:",
        tests=(
            f"{LISTENER}::test_requests_whose_client_has_gone_are_not_kept_without_end",
            "--timeout=20",
        ),
        says="Timeout",
    ),
    Mutant(
        name="a machine without a descriptor says nothing about git",
        file="overlord/adapters/git_command.py",
        before="if error.errno in EXHAUSTED:",
        after="if error.errno == 0:",
        tests=("tests/adapters/test_git_command.py",),
        says="GitFailed",
    ),
    Mutant(
        name="only a session's user is let in at its socket",
        file="overlord/door/listener.py",
        before="return uid in self._users",
        after="return True",
        tests=(f"{LISTENER}::test_who_is_no_sessions_user_is_hung_up_on",),
        says="200 OK",
    ),
    Mutant(
        name="a socket's name holds nothing of this machine",
        file="overlord/door/listener.py",
        before='listening.bind(f"/proc/self/fd/{place}/{self._path.name}")',
        after='listening.bind(f"{self._path}")',
        tests=(f"{LISTENER}::test_the_name_that_sessions_see_tells_nothing_of_where_the_home_is",),
        says="not in",
    ),
    Mutant(
        name="a home is closed to others",
        file="overlord/store/database.py",
        before="        home.chmod(0o700)\n",
        after="        pass\n",
        tests=(f"{HOME}::test_a_home_that_was_open_to_others_is_closed_when_the_daemon_starts",),
        says="assert 493 == 448",
    ),
    Mutant(
        name="another user's home is not worked in",
        file="overlord/store/database.py",
        before="if uid not in (found.st_uid, 0):",
        after="if uid < 0:",
        tests=(f"{HOME}::test_a_home_of_another_user_is_refused_with_what_to_do",),
        says="DID NOT RAISE|PermissionError",
    ),
    Mutant(
        name="nobody can guess where a session's socket is",
        file="overlord/domain/session.py",
        before="sha256(key + identifier.encode())",
        after="sha256(identifier.encode())",
        tests=(f"{HOME}::test_names_of_sessions_directories_are_each_homes_own_and_outlive_the_daemon",),
        says="not in",
    ),
    Mutant(
        name="what anybody can have logged is written once in a while",
        file="overlord/entrypoints/log_repeats.py",
        before="            raise structlog.DropEvent\n",
        after="            pass\n",
        tests=("tests/listener/test_log_repeats.py",),
        says="DID NOT RAISE",
    ),
)
