# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A store: named, contiguous areas on a disk, a block device or a file."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from ctypes import byref, sizeof
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from chario import _abi
from chario._library import call, checked, freeing, function, opened, text
from chario._resource import Resource
from chario.device import Device, not_negative
from chario.errors import ChariOError, NoSuchArea

if TYPE_CHECKING:
    from chario.area import Area

Path = str | os.PathLike[str]

_close = freeing("chario_store_close")


@dataclass(frozen=True, slots=True)
class StoreInfo:
    """The properties of a store and its free space."""

    version: int
    uuid: uuid.UUID
    created_ns: int
    capacity_bytes: int
    data_offset: int
    data_bytes: int
    table_bytes: int
    used_bytes: int
    free_bytes: int
    largest_hole_bytes: int
    nr_holes: int
    alignment_bytes: int
    nr_areas: int
    max_areas: int


@dataclass(frozen=True, slots=True)
class AreaInfo:
    """The description of an area."""

    name: str
    id: int
    offset: int
    bytes: int
    allocated_bytes: int
    created_ns: int
    changed_ns: int
    filled_bytes: int
    fill_tag: int
    recording: bool
    filling: bool
    moving: bool
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    @classmethod
    def _of(cls, raw: _abi.AreaInfo) -> AreaInfo:
        return cls(
            name=decoded(raw.name),
            recording=bool(raw.flags & _abi.AREA_STREAM),
            filling=bool(raw.flags & _abi.AREA_FILLING),
            moving=bool(raw.flags & _abi.AREA_MOVING),
            attributes=_attributes(bytes(raw.attributes)),
            **{name: getattr(raw, name) for name in cls.__slots__[1:-4]},
        )


class Severity(IntEnum):
    """The severity of damage."""

    NOTE = 1
    REPAIRABLE = 2
    LOSS = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """Damage that a check has found."""

    damage: str
    severity: Severity
    text: str
    name: str
    other: str
    copy: int
    block: int
    offset: int
    repaired: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a check; ``remaining`` is the number of damages left that are more than a note."""

    findings: tuple[Finding, ...]
    remaining: int


class Store(Resource):
    """An open store; iterating returns AreaInfo in the order of the disk.

    ``store["name"]`` is the area, open for reading; open(name, writable=True) opens it
    as its only writer.
    """

    def __init__(self, path: Path, *, writable: bool = False) -> None:
        """Open the store on a disk, a block device or a file."""
        self._what = f"store {os.fspath(path)}"
        flags = os.O_RDWR if writable else os.O_RDONLY
        self._own(opened(self._what, _close, "chario_store_open", os.fsencode(path), flags), _close, None)
        self._lent_device: Device | None = None
        self.writable = writable

    @staticmethod
    def format(path: Path, *, max_areas: int = 0, alignment_bytes: int = 0, replace: bool = False) -> None:
        """Make an empty store; 0 stands for a value that suits the disk."""
        layout = _abi.StoreLayout.new(
            flags=_abi.LAYOUT_REPLACE if replace else 0,
            max_areas=not_negative(max_areas, "max_areas"),
            alignment_bytes=not_negative(alignment_bytes, "alignment_bytes"),
        )
        checked(f"store {os.fspath(path)}", "chario_store_format", os.fsencode(path), byref(layout))

    @staticmethod
    def upgrade(path: Path) -> None:
        """Convert a store of the first release to the present format; older programs can no longer read it."""
        checked(f"store {os.fspath(path)}", "chario_store_upgrade", os.fsencode(path))

    @staticmethod
    def check(path: Path, *, repair: bool = False, forget: bool = False) -> Report:
        """Look for damage of the table; ``repair`` repairs what can be repaired safely.

        With ``forget`` too, the areas of lost blocks are given up.
        """
        found: list[Finding] = []

        def visit(raw: Any, _data: Any) -> int:
            found.append(_finding(raw.contents))
            return 0

        flags = (_abi.CHECK_REPAIR if repair else 0) | (_abi.CHECK_FORGET if forget else 0)
        what = f"store {os.fspath(path)}"
        left = checked(what, "chario_store_check", os.fsencode(path), flags, _abi.FINDING_VISIT(visit), None)
        return Report(tuple(found), left)

    @property
    def device(self) -> Device:
        """The device of the store, on which buffers for its areas are made."""
        with self._use() as pointer:
            if self._lent_device is None or self._lent_device.closed:
                self._lent_device = Device._of_store(self, call("chario_store_device", pointer))
            return self._lent_device

    @property
    def info(self) -> StoreInfo:
        """The properties of the store and its free space."""
        raw = _abi.StoreInfo.new()
        with self._use() as pointer:
            checked(self._what, "chario_store_get_info", pointer, byref(raw), sizeof(raw))
        numbers = {name: getattr(raw, name) for name in StoreInfo.__slots__ if name != "uuid"}
        return StoreInfo(uuid=uuid.UUID(bytes=bytes(raw.uuid)), **numbers)

    def create(self, name: str, size: int, *, filling: bool = False) -> AreaInfo:
        """Make an area; with ``filling``, Area.set_filled() ends its filling."""
        flags = _abi.CREATE_FILLING if filling else 0
        with self._use() as pointer:
            checked(
                f"new area {name}", "chario_store_create", pointer, encoded(name), not_negative(size, "size"), flags
            )
        return self.find(name)

    def rename(self, name: str, new_name: str) -> None:
        """Give an area another name; it may be open."""
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_rename", pointer, encoded(name), encoded(new_name))

    def replace(self, name: str, new_name: str) -> None:
        """Give an area a new name; another area of that name is removed in the same step."""
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_replace", pointer, encoded(name), encoded(new_name))

    def exchange(self, name: str, other: str) -> None:
        """Exchange the names of two areas, in one step."""
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_exchange", pointer, encoded(name), encoded(other))

    def set_attributes(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Give an area keys and values of your own, in one step; None removes a key."""
        for key in changes:
            if not key or "=" in key:
                raise ValueError(f"{key!r} is not a key: one is not empty and has no '='")
        texts = [key if value is None else f"{key}={value}" for key, value in changes.items()]
        listed = b"".join(encoded(text) + b"\0" for text in texts)
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_set_attributes", pointer, encoded(name), listed)

    def resize(self, name: str, size: int) -> None:
        """Change the length of an area that is not open; move the area if needed."""
        with self._use() as pointer:
            checked(f"length of area {name}", "chario_store_resize", pointer, encoded(name), not_negative(size, "size"))

    def remove(self, name: str) -> None:
        """Remove an area that is not open; its bytes are not overwritten."""
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_remove", pointer, encoded(name))

    def defrag(self, progress: Callable[[int, int], bool | None] | None = None) -> bool:
        """Gather all free space in one hole; return False if the work was ended.

        ``progress(done, total)`` is called from time to time, and ends the work by returning
        False or by an exception; the next call continues there.  An area with a block that
        cannot be copied stays in its place: the others are moved, then the call raises EIO.
        """
        raised: list[BaseException] = []

        def tell(done: int, total: int, _data: Any) -> int:
            try:
                return int(progress is not None and progress(done, total) is False)
            except BaseException as error:
                raised.append(error)
                return 1

        with self._use() as pointer:
            ended = checked(self._what, "chario_store_defrag", pointer, _abi.PROGRESS(tell), None)
        if raised:
            raise raised[0]
        return not ended

    def find(self, name: str) -> AreaInfo:
        """Return the description of an area; raise NoSuchArea if there is none."""
        raw = _abi.AreaInfo.new()
        with self._use() as pointer:
            checked(f"area {name}", "chario_store_find", pointer, encoded(name), byref(raw), sizeof(raw))
        return AreaInfo._of(raw)

    def open(self, name: str, *, writable: bool = False) -> Area:
        """Open an area, for reading or as its only writer."""
        from chario.area import Area  # noqa: PLC0415  # which knows stores

        return Area(self, name, writable=writable)

    def __getitem__(self, name: str) -> Area:
        return self.open(name)

    def __delitem__(self, name: str) -> None:
        self.remove(name)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self.find(name))
        except NoSuchArea:
            return False

    def __iter__(self) -> Iterator[AreaInfo]:
        return iter(self.areas())

    def __len__(self) -> int:
        return self.info.nr_areas

    def __bool__(self) -> bool:
        return True

    def areas(self) -> list[AreaInfo]:
        """Return all areas, in the order of the disk."""
        found: list[AreaInfo] = []

        def visit(raw: Any, _data: Any) -> int:
            found.append(AreaInfo._of(raw.contents))
            return 0

        with self._use() as pointer:
            result = function("chario_store_each")(pointer, _abi.AREA_VISIT(visit), None)
        if result:
            raise ChariOError.of(result, self._what)
        return found


def device_of(owner: Device | Store) -> Device:
    """Return the device of a store, or the device itself."""
    return owner.device if isinstance(owner, Store) else owner


def encoded(name: str) -> bytes:
    """Convert a name to the bytes of the store; a NUL would end it early."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, not {name!r}")
    if "\0" in name:
        raise ValueError("a name has no NUL")
    return name.encode("utf-8", "surrogateescape")


def decoded(name: bytes) -> str:
    """Convert a name of the store; encoded() restores bytes that are not UTF-8."""
    return name.decode("utf-8", "surrogateescape")


def _attributes(raw: bytes) -> dict[str, str]:
    texts = raw[: raw.index(b"\0\0")] if raw[0] else b""
    parts = (decoded(text).partition("=") for text in texts.split(b"\0") if text)
    return {key: value for key, _, value in parts}


def _finding(raw: _abi.Finding) -> Finding:
    return Finding(
        damage=text("chario_damage_name", raw.damage) or str(raw.damage),
        severity=Severity(raw.severity),
        text=decoded(raw.text),
        name=decoded(raw.name),
        other=decoded(raw.other),
        copy=raw.copy,
        block=raw.block,
        offset=raw.offset,
        repaired=bool(raw.repaired),
    )
