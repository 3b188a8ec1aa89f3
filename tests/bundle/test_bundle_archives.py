"""Archives from anywhere: unpacked whole and safely, or not at all."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile

import pytest

from inquesto_core.bundle import archives
from inquesto_core.bundle.archives import Limits, unpack
from inquesto_core.errors import BundleError, StoreError

HOSTILE_NAMES = [
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a/..",
    "..",
    "C:/x",
    "a\\..\\..\\x",
    "a\nb",
    "\x1b[31m",
]


def zip_of(path, members, **options):
    with zipfile.ZipFile(path, "w", options.get("method", zipfile.ZIP_DEFLATED)) as target:
        for name, content in members:
            target.writestr(name, content)
    return path


def tar_of(path, members):
    with tarfile.open(path, "w" if path.suffix == ".tar" else "w:gz") as target:
        for name, content in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return path


def archive_of(path, members):
    return zip_of(path, members) if path.suffix == ".zip" else tar_of(path, members)


def refused(archive, code, **limits):
    into = archive.parent / "into"
    with pytest.raises(BundleError, match=code) as caught:
        unpack(archive, into, limits=Limits(**limits))
    assert caught.value.problem.code == code
    assert caught.value.problem.file == archive.name
    assert not into.exists()
    return caught.value.problem


KINDS = pytest.mark.parametrize("kind", ["zip", "tar", "tgz"])


@KINDS
def test_members_are_written_for_their_owner_only(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a/b/c.json", b"{}"), ("d", b"")])
    unpack(archive, tmp_path / "new" / "into")
    into = tmp_path / "new" / "into"
    assert (into / "a/b/c.json").read_bytes() == b"{}"
    assert (into / "d").read_bytes() == b""
    assert stat.S_IMODE(into.stat().st_mode) == 0o700
    for name in ("a/b/c.json", "d"):
        assert stat.S_IMODE((into / name).stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_empty_folders_are_made(tmp_path, kind):
    if kind == "zip":
        archive = zip_of(tmp_path / "x.zip", [("a/", b""), ("a/b/", b""), ("a/b/c", b"1")])
    else:
        folder = tarfile.TarInfo("a/b")
        folder.type = tarfile.DIRTYPE
        archive = tar_of(tmp_path / "x.tar", [(folder, b""), ("a/b/c", b"1")])
    unpack(archive, tmp_path / "into")
    assert (tmp_path / "into/a/b/c").read_bytes() == b"1"


@KINDS
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_name_that_leads_out_is_refused(tmp_path, kind, name):
    archive = archive_of(tmp_path / f"x.{kind}", [("good", b"x"), (name, b"x")])
    problem = refused(archive, "archive_member")
    assert problem.found.isprintable()


@KINDS
@pytest.mark.parametrize("again", ["a/b", "./a/b", "a//b", "a/./b"])
def test_a_member_that_is_there_twice_is_refused(tmp_path, kind, again):
    members = [("a/b", b"1"), (again, b"2")]
    if kind == "zip" and again == "a/b":
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive = archive_of(tmp_path / "x.zip", members)
    else:
        archive = archive_of(tmp_path / f"x.{kind}", members)
    assert "twice" in refused(archive, "archive_member").found


@KINDS
def test_a_file_that_another_member_uses_as_a_folder_is_refused(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", b"1"), ("a/b", b"2")])
    refused(archive, "archive_unreadable")


def test_links_in_a_zip_are_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    refused(zip_of(tmp_path / "x.zip", [(link, b"/etc/passwd")]), "link_refused")


@pytest.mark.parametrize("kind", [stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_devices_in_a_zip_are_refused(tmp_path, kind):
    device = zipfile.ZipInfo("device")
    device.external_attr = (kind | 0o600) << 16
    refused(zip_of(tmp_path / "x.zip", [(device, b"")]), "archive_member")


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (tarfile.SYMTYPE, "link_refused"),
        (tarfile.LNKTYPE, "link_refused"),
        (tarfile.CHRTYPE, "archive_member"),
        (tarfile.BLKTYPE, "archive_member"),
        (tarfile.FIFOTYPE, "archive_member"),
    ],
    ids=["symbolic link", "hard link", "character device", "block device", "pipe"],
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind, code):
    member = tarfile.TarInfo("x")
    member.type, member.linkname = kind, "/etc/passwd"
    refused(tar_of(tmp_path / "x.tar", [(member, b"")]), code)


def test_an_encrypted_member_is_refused(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [("a", b"secret")])
    data = bytearray(archive.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    archive.write_bytes(data)
    assert "encrypted" in refused(archive, "archive_member").found


@KINDS
def test_members_are_counted_to_the_limit(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", b""), ("b", b""), ("c", b"")])
    unpack(archive, tmp_path / "fits", limits=Limits(members=3))
    refused(archive, "archive_bomb", members=2)


def test_a_zip_is_counted_before_its_members_are_looked_at(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [("../x", b""), ("b", b"")])
    refused(archive, "archive_bomb", members=1)


@KINDS
def test_bytes_are_counted_to_the_limit(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", os.urandom(600)), ("b", os.urandom(400))])
    unpack(archive, tmp_path / "fits", limits=Limits(total_bytes=1000))
    refused(archive, "archive_bomb", total_bytes=999)


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_member_is_a_bomb_only_beyond_both_size_and_ratio(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", bytes(300_000))])
    unpack(archive, tmp_path / "small", limits=Limits(ratio=200, ratio_from_bytes=300_000))
    unpack(archive, tmp_path / "dense", limits=Limits(ratio=1100, ratio_from_bytes=100))
    refused(archive, "archive_bomb", ratio=200, ratio_from_bytes=299_999)


def test_a_dense_member_among_others_is_a_bomb(tmp_path):
    members = [("noise", os.urandom(100_000)), ("zeros", bytes(300_000))]
    archive = zip_of(tmp_path / "x.zip", members)
    refused(archive, "archive_bomb", ratio=200, ratio_from_bytes=200_000)


def test_the_standing_limits_stop_a_real_bomb(tmp_path):
    archive = tmp_path / "x.zip"
    with (
        zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target,
        target.open("zeros", "w", force_zip64=True) as member,
    ):
        for _ in range(65):
            member.write(bytes(1024 * 1024))
    refused(archive, "archive_bomb")


def test_a_member_that_holds_more_than_it_declares_is_refused(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [("a", bytes(5000))])
    data = bytearray(archive.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + offset, 10)
    archive.write_bytes(data)
    refused(archive, "archive_unreadable")


def test_a_member_that_holds_less_than_it_declares_is_refused(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [("a", b"1234")])
    data = bytearray(archive.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(mark) + offset, 4000)
    archive.write_bytes(data)
    assert "4 bytes where 4000" in refused(archive, "archive_member").found


def test_members_that_share_their_packed_bytes_are_still_counted(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [(f"m{at}", bytes(100_000)) for at in range(50)])
    refused(archive, "archive_bomb", ratio=100, ratio_from_bytes=1_000_000)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.95])
@KINDS
def test_a_truncated_archive_is_refused(tmp_path, kind, keep):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", os.urandom(50_000)), ("b", b"x" * 9000)])
    data = archive.read_bytes()
    kept = len(data) if kind != "tar" else 60_000
    archive.write_bytes(data[: int(kept * keep)])
    refused(archive, "archive_unreadable")


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_noise_is_no_archive(tmp_path, kind):
    archive = tmp_path / f"x.{kind}"
    archive.write_bytes(b"noise " * 500)
    refused(archive, "archive_unreadable")


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_damaged_content_is_refused(tmp_path, kind):
    archive = archive_of(tmp_path / f"x.{kind}", [("a", os.urandom(5000))])
    data = bytearray(archive.read_bytes())
    data[2500] ^= 0xFF
    archive.write_bytes(data)
    refused(archive, "archive_unreadable")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["pax", "long"])
def test_a_tar_header_of_many_megabytes_is_never_read_whole(tmp_path, kind):
    header = tarfile.TarInfo("h")
    header.type, header.size = kind, 50 * 1024 * 1024
    archive = tmp_path / "x.tgz"
    with gzip.open(archive, "wb") as target:
        target.write(header.tobuf(tarfile.GNU_FORMAT))
        target.write(bytes(header.size))
    problem = refused(archive, "archive_bomb", ratio=10**9)
    assert "headers" in problem.found


def test_a_chain_of_tar_headers_ends_in_a_problem(tmp_path):
    header = tarfile.TarInfo("h")
    header.type, header.size = tarfile.XHDTYPE, 0
    archive = tmp_path / "x.tar"
    archive.write_bytes(header.tobuf(tarfile.USTAR_FORMAT) * 5000)
    with pytest.raises(BundleError, match="archive_"):
        unpack(archive, tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_a_sparse_member_is_refused(tmp_path):
    member = tarfile.TarInfo("x")
    member.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(2**40)}
    member.pax_headers |= {"GNU.sparse.map": "0,1"}
    with tarfile.open(tmp_path / "x.tar", "w", format=tarfile.PAX_FORMAT) as target:
        member.size = 1
        target.addfile(member, io.BytesIO(b"x"))
    refused(tmp_path / "x.tar", "archive_member")


def test_long_names_and_large_members_of_a_tar_are_read(tmp_path):
    name = "/".join(["folder" * 10] * 4) + "/call.json"
    content = os.urandom(3 * 1024 * 1024 + 7)
    unpack(tar_of(tmp_path / "x.tgz", [(name, content), ("b", b"1")]), tmp_path / "into")
    assert (tmp_path / "into" / name).read_bytes() == content


def test_a_name_too_long_for_the_disk_is_a_problem(tmp_path):
    refused(zip_of(tmp_path / "x.zip", [("n" * 300, b"")]), "archive_unreadable")


def test_a_full_disk_is_no_fault_of_the_archive(tmp_path, monkeypatch):
    archive = zip_of(tmp_path / "x.zip", [("a", b"1")])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives, "_unpack_zip", full)
    with pytest.raises(StoreError, match=r"No space left.*scratch_unwritable"):
        unpack(archive, tmp_path / "into")
    assert not (tmp_path / "into").exists()


def test_a_scratch_folder_that_cannot_be_made_is_no_fault_of_the_archive(tmp_path):
    archive = zip_of(tmp_path / "x.zip", [("a", b"1")])
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="scratch_unwritable"):
        unpack(archive, tmp_path / "file" / "into")


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("a.zip", True),
        ("A.ZIP", True),
        ("a.tar", True),
        ("a.tar.gz", True),
        ("a.tgz", True),
        ("a.gz", False),
        ("a.tar.xz", False),
        ("zip", False),
        ("a.7z", False),
    ],
)
def test_an_archive_is_known_by_its_name(name, ours):
    assert archives.is_archive(name) is ours


def test_a_member_without_a_name_is_refused(tmp_path):
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr("xname", "text")
    archive.write_bytes(archive.read_bytes().replace(b"xname", b"\x00name"))
    with pytest.raises(BundleError, match="has no name"):
        unpack(archive, tmp_path / "out")
