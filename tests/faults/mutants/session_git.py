"""Defences of the machine against what a session pushes."""

from tests.faults.mutants.mutant import Mutant

_READ = "tests/adapters/test_git_bounds.py"
_PUSHED = "tests/session_api/test_git_bounds.py"
SESSION_GIT = (
    Mutant(
        name="git holds nothing larger than a file may be at once",
        file="overlord/git_limits.py",
        before='{"GIT_ALLOC_LIMIT": str(self.allocation_bytes)}',
        after="{}",
        tests=(f"{_PUSHED}::test_a_kilobyte_that_unfolds_to_gigabytes_is_refused_before_it_does",),
        says="over limit",
    ),
    Mutant(
        name="a git that reads a push has so much memory",
        file="overlord/git_limits.py",
        before='ulimit -d "$0" && ',
        after="",
        tests=(f"{_PUSHED}::test_many_small_allocations_are_limited_together",),
        says="Out of memory",
    ),
    Mutant(
        name="a git that reads a push has so much time",
        file="overlord/git_limits.py",
        before='ulimit -S -t "$1" && ',
        after="",
        tests=(f"{_PUSHED}::test_what_unfolds_again_and_again_ends_with_its_time",),
        says="of the processor",
    ),
    Mutant(
        name="whatever reads a session's objects is bounded",
        file="overlord/adapters/git/command.py",
        before="    if bounded:\n",
        after="    if bounded and largest_file_bytes:\n",
        tests=(f"{_READ}::test_whatever_reads_a_sessions_objects_is_bounded",),
        says="changes is not bounded",
    ),
    Mutant(
        name="what cannot be compared is not taken in",
        file="overlord/adapters/git/content/listing.py",
        before="if together > COMPARED_BYTES:",
        after="if together < 0:",
        tests=(f"{_READ}::test_what_takes_too_much_to_compare_is_too_large_to_be_judged",),
        says="git needs more memory",
    ),
    Mutant(
        name="a session's pushes are counted together",
        file="overlord/home.py",
        before="return max(taken - int(begun), 0) if begun else 0",
        after="return max(taken - int(begun), 0) if not begun else 0",
        tests=(f"{_PUSHED}::test_a_sessions_pushes_are_counted_together_also_by_the_next_daemon",),
        says="assert 0 != 0",
    ),
    Mutant(
        name="what a cut push left is removed",
        file="overlord/session_api/push_limits.py",
        before="shutil.rmtree(left, ignore_errors=True)",
        after="pass",
        tests=(f"{_PUSHED}::test_what_a_push_left_that_was_cut_off_is_removed",),
        says="tmp_objdir",
    ),
    Mutant(
        name="a push takes no more of the disk than was sent",
        file="overlord/adapters/git/session.py",
        before="unpackLimit = 1\\n",
        after="unpackLimit = 100\\n",
        tests=(f"{_PUSHED}::test_what_unfolds_on_the_disk_is_kept_as_it_was_sent",),
        says="assert",
    ),
    Mutant(
        name="what is handed in is what the working tree holds",
        file="minion/workspace/workspace.py",
        before='if tree != self._saved_tree or self._remote_head() not in ("", parent):',
        after="if tree != self._saved_tree:",
        tests=(
            "tests/minion/test_workspace.py::test_what_a_command_pushed_and_took_back_is_not_what_is_saved",
        ),
        says="'y' == 'x = 1'",
    ),
    Mutant(
        name="what was there before alone is not looked at",
        file="overlord/adapters/git/known.py",
        before="CONFIG = f'[receive \"fsck\"]\\n\\tskipList = {_FILE}\\n'",
        after="CONFIG = '[receive \"fsck\"]\\n\\tgitmodulesName = ignore\\n\\tgitmodulesUrl = ignore\\n'",
        tests=(
            "tests/adapters/test_git_session.py::test_a_gitmodules_that_git_refuses_is_not_taken_in_from_a_session",
        ),
        says="gitmodulesName",
    ),
)
