"""Files are there whole or not at all, and nothing else is replaced by accident."""

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from soar_jax._base import InputError
from soar_jax._files import check_target, write_bytes_atomically, write_text_atomically

IS_ROOT = os.geteuid() == 0


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    write_text_atomically(tmp_path / "a.txt", "é")
    (tmp_path / "b.txt").write_text("")
    assert (tmp_path / "a.txt").read_bytes() == "é".encode()
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "b.txt").stat().st_mode


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    write_text_atomically(path, "new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o7777 == 0o640


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")
def test_a_file_that_is_replaced_keeps_its_owner_and_group(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    write_text_atomically(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid, path.read_text()) == (1234, 2345, "new")


def test_a_symbolic_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    link.symlink_to(real)
    write_text_atomically(link, "new")
    assert link.is_symlink() and real.read_text() == "new" and os.listdir(tmp_path / "there") == ["real.txt"]
    real.unlink()
    write_text_atomically(link, "newer")
    assert link.is_symlink() and real.read_text() == "newer"


def test_a_link_to_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("important")
    (tmp_path / "out.csv").symlink_to(tmp_path / "notes.txt")
    with pytest.raises(InputError, match=r"a link to notes\.txt"):
        write_text_atomically(tmp_path / "out.csv", "new")
    assert (tmp_path / "notes.txt").read_text() == "important"


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match="cannot be followed"):
        write_text_atomically(tmp_path / "a", "x")
    assert (tmp_path / "a").is_symlink()


def test_devices_are_written_into_and_never_replaced():
    before = os.stat("/dev/null")
    write_text_atomically("/dev/null", "gone")
    after = os.stat("/dev/null")
    assert (before.st_ino, before.st_mode, before.st_rdev) == (after.st_ino, after.st_mode, after.st_rdev)


def test_the_reader_of_a_pipe_gets_all_of_it(tmp_path):
    pipe, content = tmp_path / "pipe", os.urandom(300_000)
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_bytes_atomically(pipe, content)
    reader.join(timeout=20)
    assert got == [content] and pipe.is_fifo()


def test_standard_output_that_goes_to_a_file_is_written_after_what_is_there(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("before\n")
    code = "from soar_jax._files import write_text_atomically as w; w('/dev/stdout', 'after\\n')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert log.read_text() == "before\nafter\n"


def test_folders_and_sockets_are_refused(tmp_path):
    import socket

    with pytest.raises(InputError, match="is a folder"):
        check_target(tmp_path)
    with pytest.raises(InputError, match="no folder"):
        check_target(tmp_path / "no" / "x.csv")
    here = os.getcwd()
    os.chdir(tmp_path)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind("door")
            with pytest.raises(InputError, match="socket"):
                check_target("door")
    finally:
        os.chdir(here)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_written_is_said_with_the_users_name_for_it(tmp_path, what, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    closed = path if what == "file" else tmp_path
    access = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != closed and access(place, mode))
    with pytest.raises(PermissionError, match=r"a\.txt"):
        write_text_atomically(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    """A limit on the size of files fails in the midst of writing, as a full disk does."""
    path = tmp_path / "a.txt"
    path.write_text("old")
    code = (
        "import resource, signal, sys; from soar_jax._files import write_text_atomically\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: write_text_atomically(sys.argv[1], 'x' * 100_000)\n"
        "except OSError as error: print(error.filename)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 5000


def test_a_name_of_the_longest_length_can_be_written(tmp_path):
    path = tmp_path / ("n" * 251 + ".csv")
    write_text_atomically(path, "x")
    assert path.read_text() == "x"
