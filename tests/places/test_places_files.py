"""A file that somebody named is read; what is none is refused and never waited for."""

from __future__ import annotations

import os
import socket

import pytest

from inquesto_core.places import read_file_bytes


def test_a_file_is_read_whole_or_as_far_as_asked(tmp_path):
    file = tmp_path / "a.json"
    file.write_bytes(b"abc")
    assert read_file_bytes(file) == b"abc"
    assert read_file_bytes(file, 2) == b"ab"


def test_a_pipe_or_a_socket_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            with pytest.raises(OSError, match="a pipe, a socket or a device"):
                read_file_bytes(tmp_path / name)


def test_a_folder_and_what_is_not_there_say_what_they_are(tmp_path):
    with pytest.raises(IsADirectoryError):
        read_file_bytes(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_file_bytes(tmp_path / "none.json")
