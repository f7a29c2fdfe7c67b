"""The kernel cache: whatever happens to its files, the answer is right."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap

import numpy as np
import pytest

from manipapy_core.compiler import cache
from manipapy_core.compiler.kernels import compiled, joint_trajectory
from manipapy_core.compiler.llvm import engine
from manipapy_core.compiler.trace import Input, Signature

SIGNATURE = Signature("doubled", (Input("x", (2,)),), (2,))


def doubled():
    """A kernel of a formula that is not part of the library."""
    return compiled(SIGNATURE, lambda x: [x[0] + x[0], x[1] + x[1]])


def check(function) -> None:
    np.testing.assert_array_equal(function.run(np.array([[1.0, 2.0]] * 9)), [[2.0, 4.0]] * 9)


def kernel_of_the_library():
    joint_trajectory.cache_clear()
    return joint_trajectory(3, 2)


def check_trajectory() -> None:
    times = np.array([[0.0], [1.0]])
    positions = kernel_of_the_library().run(times, [0.0, 0.0], [1.0, 2.0], [1.0])[:, 0]
    np.testing.assert_allclose(positions, [[0.0, 0.0], [1.0, 2.0]], atol=1e-15)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "kernels"))
    yield tmp_path / "kernels"
    joint_trajectory.cache_clear()


@pytest.fixture
def no_compilation(monkeypatch):
    """From the call of this on, compiling is an error."""
    return lambda: monkeypatch.setattr(engine, "_compile", lambda *_: pytest.fail("LLVM was called"))


def files(folder, ending):
    return [path for path in folder.iterdir() if path.suffix == ending]


def only_file(folder, ending=cache.KERNEL):
    (path,) = files(folder, ending)
    return path


def test_a_kernel_of_the_library_is_loaded_without_tracing_or_compiling(folder, no_compilation, monkeypatch):
    check_trajectory()
    assert only_file(folder).stat().st_mode & 0o077 == 0
    only_file(folder, cache.INDEX)
    no_compilation()
    monkeypatch.setattr(engine, "trace", lambda *_: pytest.fail("the formula was traced"))
    check_trajectory()


def test_a_formula_from_elsewhere_is_recognised_by_its_program(folder, no_compilation):
    check(doubled())
    assert not files(folder, cache.INDEX)
    no_compilation()
    check(compiled(SIGNATURE, lambda numbers: [number + number for number in numbers]))


def test_another_formula_of_the_same_name_has_a_file_of_its_own(folder):
    check(doubled())
    tripled = compiled(SIGNATURE, lambda x: [3.0 * x[0], 3.0 * x[1]])
    np.testing.assert_array_equal(tripled.run([1.0, 2.0]), [3.0, 6.0])
    assert len(files(folder, cache.KERNEL)) == 2


DAMAGES = ["truncated", "emptied", "one bit", "other magic", "directory"]


def spoil(path, damage):
    content = bytearray(path.read_bytes())
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "one bit":
        content[-100] ^= 1
        path.write_bytes(content)
    elif damage == "other magic":
        path.write_bytes(b"other" + content[5:])
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("ending", [cache.KERNEL, cache.INDEX])
def test_a_damaged_file_is_replaced(folder, damage, ending, no_compilation):
    check_trajectory()
    spoil(only_file(folder, ending), damage)
    if damage == "directory":
        cache._warn_once.cache_clear()
        with pytest.warns(RuntimeWarning, match="not kept"):
            check_trajectory()
    else:
        check_trajectory()
        no_compilation()
        check_trajectory()


def test_an_index_entry_whose_object_was_removed_leads_to_a_new_one(folder):
    check_trajectory()
    only_file(folder).unlink()
    check_trajectory()
    only_file(folder)


def test_another_cpu_or_version_gets_code_of_its_own(folder, monkeypatch):
    check_trajectory()
    elsewhere = engine.machine().replace("+", "-", 1)
    monkeypatch.setattr(engine, "machine", lambda: elsewhere)
    check_trajectory()
    assert len(files(folder, cache.KERNEL)) == 2 and len(files(folder, cache.INDEX)) == 2


def test_a_folder_open_to_others_is_not_trusted(folder):
    check(doubled())
    folder.chmod(0o777)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert cache.read(only_file(folder).name) is None


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702])
def test_a_folder_that_a_group_may_write_to_is_neither_read_nor_written(folder, mode):
    check(doubled())
    name = only_file(folder).name
    folder.chmod(mode)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert cache.read(name) is None
    only_file(folder).unlink()
    with pytest.warns(RuntimeWarning, match="not kept"):
        check(doubled())
    assert not files(folder, cache.KERNEL)


def test_a_file_that_a_group_may_write_to_is_not_used(folder):
    check(doubled())
    path = only_file(folder)
    path.chmod(0o660)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="others may write"):
        assert cache.read(path.name) is None


def test_a_link_is_not_followed(folder, tmp_path):
    check(doubled())
    path = only_file(folder)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.read(path.name) is None


def test_code_that_the_key_has_not_signed_is_not_used(folder, tmp_path, monkeypatch):
    """An attacker can write correct files, but not with this user's key."""
    check(doubled())
    ours = only_file(folder)
    honest = cache.read(ours.name)
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "attacker"))
    cache.write(ours.name, b"evil")
    forged = (tmp_path / "attacker" / ours.name).read_bytes()
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(folder))
    ours.write_bytes(forged)
    assert cache.read(ours.name) is None
    # Nor can a file that was signed take the place of another.
    cache.write("another.kernel", honest)
    ours.write_bytes((folder / "another.kernel").read_bytes())
    assert cache.read(ours.name) is None
    assert (folder / ".key").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_files_and_folders_of_another_user_are_not_used(folder):
    check(doubled())
    path = only_file(folder)
    os.chown(path, 12345, -1)
    assert cache.read(path.name) is None
    os.chown(path, os.getuid(), -1)
    assert cache.read(path.name) is not None
    os.chown(folder, 12345, -1)
    cache._warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match="another user"):
        assert cache.read(path.name) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without a name")
@pytest.mark.parametrize("home", [None, "/", "/nowhere"])
def test_a_user_without_home_and_name_can_compile_and_reuse(home):
    """As in a container that runs under a number."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        assert used_without_name(home, folder) == f"{folder}/cache-54321/manipapy"


def used_without_name(home: str | None, temporary: str) -> str:
    """The folder of the cache that a process of a user without a name has used."""
    program = textwrap.dedent(
        """
        import os
        from manipapy_core.compiler import cache
        os.setuid(54321)  # only now: the interpreter may lie in a folder of root
        cache.write("a.kernel", b"code")
        assert cache.read("a.kernel") == b"code"
        print(cache.folder())
        """
    )
    names = ("HOME", "XDG_CACHE_HOME", cache.FOLDER_VARIABLE)
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"TMPDIR": temporary, "PYTHONDONTWRITEBYTECODE": "1"} | ({"HOME": home} if home else {})
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_folder_that_cannot_be_made_costs_only_a_warning(tmp_path, monkeypatch):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(blocker / "kernels"))
    with pytest.warns(RuntimeWarning, match=cache.FOLDER_VARIABLE):
        check(doubled())


def test_many_processes_at_once_agree_and_leave_no_debris(folder):
    program = textwrap.dedent(
        """
        import numpy as np
        from manipapy_core import Robot, dynamics
        chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
        q = np.linspace(-1, 1, 6)
        print(dynamics.inverse_dynamics(chain, q, q, q).tobytes().hex())
        """
    )
    environment = {**os.environ, cache.FOLDER_VARIABLE: str(folder)}
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(4)
    ]
    answers = {process.communicate(timeout=120)[0] for process in processes}
    assert all(process.returncode == 0 for process in processes)
    assert len(answers) == 1
    assert sorted(path.suffix for path in folder.iterdir()) == ["", cache.INDEX, cache.KERNEL], (
        "the key and one of each"
    )


@pytest.fixture
def small(folder, monkeypatch):
    """A cache for about ten files of a thousand bytes."""
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "11000")
    monkeypatch.setattr(cache, "_TRIMMER", cache._Trimmer())
    return folder


def keep(number: int, age: float) -> None:
    """Writes a file of a thousand bytes, last used so many seconds ago."""
    name = f"some-{number:02}{cache.KERNEL}"
    cache.write(name, bytes(1000))
    then = os.stat(cache.folder()).st_mtime - age
    os.utime(cache.folder() / name, (then, then))


def test_the_cache_stays_below_its_limit_and_keeps_what_was_used_last(small):
    for number in range(40):
        keep(number, age=1000.0 - number)
        assert sum(entry.size for entry in cache.entries()) <= 11000 + 1100  # the last file is newer than all others
    left = {entry.path.name for entry in cache.entries()}
    assert 8 <= len(left) <= 11
    assert f"some-39{cache.KERNEL}" in left and f"some-00{cache.KERNEL}" not in left


def test_reading_a_file_keeps_it_longer(small):
    for number in range(9):
        keep(number, age=1000.0 - number)
    assert cache.read(f"some-00{cache.KERNEL}") == bytes(1000)
    for number in range(9, 14):
        keep(number, age=1000.0 - number)
    left = {entry.path.name for entry in cache.entries()}
    assert f"some-00{cache.KERNEL}" in left and f"some-01{cache.KERNEL}" not in left


def test_files_that_the_cache_did_not_write_are_left_alone(small):
    small.mkdir(mode=0o700)
    (small / "notes.txt").write_bytes(bytes(20000))
    for number in range(20):
        keep(number, age=1000.0 - number)
    assert (small / "notes.txt").exists()
    cache.clear()
    assert sorted(path.name for path in small.iterdir()) == [".key", "notes.txt"]


def test_partial_files_of_dead_processes_are_removed(small):
    small.mkdir(mode=0o700)
    for name, age in (("dead", 7200.0), ("alive", 0.0)):
        path = small / f".{name}.part"
        path.write_bytes(bytes(10))
        os.utime(path, (path.stat().st_mtime - age,) * 2)
    keep(0, age=0.0)
    assert sorted(path.name for path in small.iterdir()) == [".alive.part", ".key", f"some-00{cache.KERNEL}"]


def test_a_limit_that_is_no_number_is_reported(monkeypatch):
    monkeypatch.setenv(cache.LIMIT_VARIABLE, "much")
    with pytest.warns(RuntimeWarning, match="'much', not a number of bytes"):
        assert cache.limit() == cache.DEFAULT_LIMIT


def test_processes_that_write_and_trim_at_once_do_not_disturb_each_other(small):
    program = textwrap.dedent(
        f"""
        import sys
        from manipapy_core.compiler import cache
        for number in range(200):
            name = f"{{sys.argv[1]}}-{{number}}{cache.KERNEL}"
            cache.write(name, bytes([number]) * 1000)
            assert cache.read(name) in (None, bytes([number]) * 1000)
        """
    )
    processes = [subprocess.Popen([sys.executable, "-W", "error", "-c", program, str(i)]) for i in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert sum(entry.size for entry in cache.entries()) <= 11000 + 3 * 1100
