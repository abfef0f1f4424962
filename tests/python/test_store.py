# SPDX-License-Identifier: MIT
"""Stores and areas from Python."""

import errno
import pickle
from pathlib import Path

import pytest
from package_lab import MIB

import chario

pytest_plugins = ("package_store",)


def test_areas_are_made_listed_renamed_resized_removed(store: chario.Store) -> None:
    """The life of an area."""
    made = store.create("a", 3 * MIB)
    assert (made.name, made.bytes, made.recording, made.filling) == ("a", 3 * MIB, False, False)
    store.create("b", MIB)
    assert [area.name for area in store] == ["a", "b"]
    store.rename("a", "c")
    store.resize("c", 5 * MIB)
    assert "a" not in store
    assert store.find("c").bytes == 5 * MIB
    del store["b"]
    assert len(store) == 1
    assert store.info.nr_areas == 1
    assert store.info.used_bytes == 5 * MIB


def test_areas_take_the_place_of_others(store: chario.Store) -> None:
    """In one step, whether the name is free or not."""
    for name, size in (("old", MIB), ("new", 2 * MIB), ("other", 3 * MIB)):
        store.create(name, size)
    store.replace("new", "old")
    assert {area.name: area.bytes for area in store} == {"old": 2 * MIB, "other": 3 * MIB}
    store.exchange("old", "other")
    assert {area.name: area.bytes for area in store} == {"old": 3 * MIB, "other": 2 * MIB}
    store.replace("old", "free")
    assert "free" in store and "old" not in store
    with pytest.raises(chario.NoSuchArea):
        store.exchange("free", "nobody")


def test_areas_have_attributes(store: chario.Store) -> None:
    """They are set, taken away, and pass to what replaces the area."""
    assert store.create("a", MIB).attributes == {}
    store.set_attributes("a", {"lens": "35mm", "größe": "a=b", "empty": ""})
    assert store.find("a").attributes == {"lens": "35mm", "größe": "a=b", "empty": ""}
    store.set_attributes("a", {"lens": "50mm", "empty": None})
    assert [area.attributes for area in store] == [{"größe": "a=b", "lens": "50mm"}]
    store.create("b", MIB)
    store.replace("b", "a")
    assert store["a"].info.attributes["lens"] == "50mm"
    store.set_attributes("a", {"größe": None, "lens": None, "k": "v" * 251})
    assert len(store.find("a").attributes["k"]) == 251
    with pytest.raises(chario.ChariOError, match="255 bytes"):
        store.set_attributes("a", {"x": ""})
    for key in ("", "a=b", "a\0b"):
        with pytest.raises(ValueError, match=r"key|NUL"):
            store.set_attributes("a", {key: "x"})


def test_a_store_of_the_present_format_is_upgraded(store: chario.Store, image: Path) -> None:
    """Nothing is to be done, but nobody may have it open."""
    with pytest.raises(chario.ChariOError):
        chario.Store.upgrade(image)
    store.close()
    before = image.read_bytes()
    chario.Store.upgrade(image)
    assert image.read_bytes() == before


def test_a_name_that_is_not_there_is_three_errors(store: chario.Store) -> None:
    """Whoever expects a mapping, a file or CharIO catches it."""
    for kind in (KeyError, FileNotFoundError, chario.ChariOError):
        with pytest.raises(kind, match=r"area gone: there is no such area \(ENOENT\); .*chario ls"):
            store["gone"]


def test_names_are_any_bytes(store: chario.Store) -> None:
    """UTF-8 by custom; what is not comes back as it was."""
    odd = b"odd-\xff".decode("utf-8", "surrogateescape")
    for name in ("größe", odd):
        store.create(name, MIB)
        assert name in store
    assert {area.name for area in store} == {"größe", odd}
    with pytest.raises(ValueError, match="NUL"):
        store.create("a\0b", MIB)


def test_errors_say_what_to_do(store: chario.Store, image: Path, tmp_path: Path) -> None:
    """The number, the meaning, the advice."""
    store.create("a", MIB)
    with pytest.raises(chario.ChariOError, match="choose another name") as caught:
        store.create("a", MIB)
    assert caught.value.errno == errno.EEXIST
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.advice) == (str(caught.value), caught.value.advice)
    with pytest.raises(chario.ChariOError, match="defrag"):
        store.create("b", 1 << 40)
    with store.open("a", writable=True), pytest.raises(chario.ChariOError, match="close it there"):
        store.open("a", writable=True)
    (empty := tmp_path / "empty").write_bytes(bytes(MIB))
    with pytest.raises(chario.ChariOError, match="there is no store"):
        chario.Store(empty)
    with chario.Store(image) as reader, pytest.raises(chario.ChariOError, match="writable=True"):
        reader.create("c", MIB)


def test_bytes_of_any_number_at_any_place(store: chario.Store) -> None:
    """What has been written is read, whatever its alignment."""
    store.create("a", MIB)
    with store.open("a", writable=True) as area:
        assert area.write(bytes(MIB)) == MIB
        assert area.write(b"hello", 4093) == 5
        area.sync()
        memory = bytearray(7)
        assert area.readinto(memory, 4092) == 7
        assert memory == b"\0hello\0"
        assert area.read(5, 4093) == b"hello"
        assert area.read(100, MIB - 3) == bytes(3)
        assert area.read(1, MIB) == b""
        with pytest.raises(chario.ChariOError, match=r"the area ends here \(ENOSPC\)"):
            area.write(b"12345", MIB - 2)
        assert area.read(None, MIB - 2) == b"12"
    with pytest.raises(BufferError), store["a"] as area:
        area.readinto(b"cannot be written to")
    with pytest.raises(ValueError, match="offset is -1, which is negative"), store["a"] as area:
        area.read(1, -1)
    with pytest.raises(TypeError, match="size is '1M', not a whole number"):
        store.create("x", "1M")  # type: ignore[arg-type]


def test_an_area_that_is_being_filled(store: chario.Store) -> None:
    """How far it is stands in the table."""
    assert store.create("a", MIB, filling=True).filling
    with store.open("a", writable=True) as area:
        area.set_filled(4096, tag=7)
    assert (store.find("a").filled_bytes, store.find("a").fill_tag) == (4096, 7)
    with store.open("a", writable=True) as area, pytest.raises(chario.ChariOError, match="not being filled"):
        area.set_filled(MIB)
        area.set_filled(MIB)
    assert not store.find("a").filling


def test_what_is_closed_says_so(store: chario.Store) -> None:
    """A closed area is no pointer into nowhere, and closing twice is nothing."""
    store.create("a", MIB)
    area = store["a"]
    area.close()
    area.close()
    with pytest.raises(ValueError, match="closed area"):
        area.read(1)
    area = store["a"]
    store.close()
    assert area.closed
    with pytest.raises(ValueError, match="closed store"):
        list(store)


def test_an_area_that_is_forgotten_is_closed(store: chario.Store) -> None:
    """No file, no lock stays of it: the next writer may come, any number of times."""
    store.create("a", MIB)
    for _ in range(3):
        store.open("a", writable=True)


def test_defrag_joins_the_holes(store: chario.Store) -> None:
    """Content moves with its area; a progress that says False, or raises, ends the work."""
    for name in "abcd":
        store.create(name, 8 * MIB)
        with store.open(name, writable=True) as area:
            area.write(name.encode() * 5)
    store.remove("a")
    store.remove("c")
    assert store.info.nr_holes == 3

    def stop(done: int, total: int) -> bool:
        assert done <= total
        return False

    def fail(_done: int, _total: int) -> None:
        raise RuntimeError("enough")

    assert store.defrag(stop) is False
    with pytest.raises(RuntimeError, match="enough"):
        store.defrag(fail)
    assert store.defrag() is True
    assert store.info.nr_holes == 1
    assert [store[name].read(5) for name in "bd"] == [b"bbbbb", b"ddddd"]


def test_check_finds_and_repairs(image: Path) -> None:
    """A damaged copy of the header is named, put right, and gone."""
    assert chario.Store.check(image) == chario.Report((), 0)
    with image.open("r+b") as file:
        file.write(bytes(4096))
    report = chario.Store.check(image)
    assert report.remaining == 1
    assert report.findings[0].severity is chario.Severity.REPAIRABLE
    assert report.findings[0].text
    assert chario.Store.check(image, repair=True).remaining == 0
    assert chario.Store.check(image).findings == ()


def test_format_spares_a_store(image: Path) -> None:
    """Unless it is told to replace it."""
    with pytest.raises(chario.ChariOError, check=lambda error: error.errno == errno.EEXIST):
        chario.Store.format(image)
    chario.Store.format(image, max_areas=100, replace=True)
    with chario.Store(image) as store:
        assert store.info.max_areas >= 100


@pytest.mark.parametrize("more", [1 << 64, 1 << 70])
def test_numbers_that_c_has_no_room_for_are_refused(store: chario.Store, more: int) -> None:
    """Their upper bits are not dropped, which would mean another place or size."""
    store.create("a", MIB)
    with store.open("a", writable=True) as area, chario.Buffer.pool(store, 8192) as buffer:
        area.write(b"as it was")
        for act in (
            lambda: store.create("b", more + 4096),
            lambda: store.resize("a", more + 1),
            lambda: area.write(b"elsewhere", more),
            lambda: area.store(buffer, offset=more),
            lambda: area.view(buffer, offset=more, size=4096),
        ):
            with pytest.raises(OverflowError, match="not a number"):
                act()
        with area.view(buffer, offset=4096, size=4096) as view, pytest.raises(OverflowError, match="not a number"):
            view.mark(0, more)
        with chario.Queue(store.device) as queue, pytest.raises((OverflowError, ValueError)):
            queue.write(buffer, more)
        assert area.read(9) == b"as it was"
    assert [area.name for area in store] == ["a"]
    assert store.find("a").bytes == MIB
