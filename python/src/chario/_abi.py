# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Structs, numbers and functions of libchario.

tests/python/test_abi.py compares this file with the C compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_ssize_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

CREATE_FILLING = 1
LAYOUT_REPLACE = 1
AREA_STREAM, AREA_FILLING, AREA_MOVING = 1, 2, 4
CHECK_REPAIR, CHECK_FORGET = 1, 2
COPY_SAME_OFFSET = 1
COPY_FILE, COPY_END, COPY_READ = 2, 3, 4
TRANSFER_READ, TRANSFER_WRITE, TRANSFER_FLUSH = 0, 1, 2
TRANSFER_POLL, TRANSFER_FUA = 1, 2
TRANSFER_MAX = 0x7FF00000
BUFFER_SOURCE, BUFFER_STREAMING = 1, 2
SYNC_FOR_DEVICE, SYNC_FOR_CPU = 1, 2
QUEUE_POLL = 1
STREAM_RING, STREAM_APPEND, STREAM_NO_CRC, STREAM_DENSE, STREAM_EXCL, STREAM_BEGIN = 1, 2, 4, 8, 16, 32
RECORD_META = 1
RECORDER_DATAGRAMS, RECORDER_DROP, RECORDER_DRAIN = 1, 2, 4
RECORDER_SOURCE, RECORDER_LIMIT, RECORDER_STOPPED, RECORDER_READ = 1, 2, 3, 5
PLAYER_PACED, PLAYER_FOLLOW, PLAYER_META = 1, 2, 4
PLAYER_SOURCE, PLAYER_LIMIT, PLAYER_STOPPED = 1, 2, 3
STORE_BLOCK = 4096
TRACKING_AUTO, TRACKING_MARKS, TRACKING_WRITE_PROTECT, TRACKING_COMPARE = 0, 1, 2, 3

SUBJECT_DISK = 0
SUBJECT_STORE = 1
SUBJECT_AREA = 2
SUBJECT_CONTENT = 3
SUBJECT_RECORDING = 4
SUBJECT_NEW_AREA = 6


# Numbers among the arguments of a function.
_NUMBERS = (c_int, c_int64, c_size_t, c_uint32, c_uint64, ctypes.c_uint)


def too_large(number: int) -> OverflowError:
    """Make the error of a number that does not fit in a C type."""
    return OverflowError(f"{number} is not a number that the library can take")


def check_numbers(kinds: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Check that each number fits in its C type; ctypes would drop its upper bits."""
    for kind, argument in zip(kinds, arguments, strict=True):
        if kind in _NUMBERS and isinstance(argument, int) and kind(argument).value != argument:
            raise too_large(argument)


class Struct(ctypes.Structure):
    """A struct whose first member is its own size."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a member; refuse a number that would lose its upper bits."""
        super().__setattr__(name, value)
        if isinstance(value, int) and getattr(self, name) != value:
            raise too_large(value)

    @classmethod
    def new(cls, **members: Any) -> Any:
        """Make a struct with its size filled in."""
        return cls(size=ctypes.sizeof(cls), **members)


def _u32(*names: str) -> list[tuple[str, Any]]:
    return [(name, c_uint32) for name in names]


def _u64(*names: str) -> list[tuple[str, Any]]:
    return [(name, c_uint64) for name in names]


class DeviceInfo(Struct):
    """struct chario_info."""

    _fields_ = (
        *_u32("size", "abi_version"),
        *_u64("features", "capacity_bytes"),
        *_u32("logical_block_bytes", "physical_block_bytes", "dma_alignment_bytes", "command_bytes"),
        *_u32("max_command_bytes", "chunk_bytes", "boundary_bytes", "nr_queues", "nr_poll_queues", "queue_depth"),
        *_u32("completion", "spin_ns"),
        *_u64("deadline_ns", "recovery_bound_ns"),
        *_u32("namespace_id", "index"),
        ("backend", c_char * 16),
        ("serial", c_char * 24),
        ("model", c_char * 48),
        ("firmware", c_char * 16),
        *_u32("command_limit", "region"),
        *_u32("write_alignment_bytes", "deallocate_alignment_bytes", "optimal_write_bytes", "atomic_write_bytes"),
        *_u64("offset_bytes"),
    )


class DeviceStats(Struct):
    """struct chario_stats."""

    _fields_ = (
        *_u32("size", "reserved"),
        *_u64("read_commands", "write_commands", "flush_commands", "read_bytes", "write_bytes", "errors", "timeouts"),
        *_u64("interrupted", "aborts", "resets", "sq_doorbells", "cq_doorbells", "interrupts", "late_reaps"),
        *_u64("discard_commands", "discard_bytes", "write_zeroes_commands", "write_zeroes_bytes"),
    )


class Transfer(Struct):
    """struct chario_transfer."""

    _fields_ = (
        *_u32("size", "op", "flags", "buffer"),
        *_u64("buffer_offset", "disk_offset", "bytes", "deadline_ns"),
        ("reserved", c_uint64 * 2),
    )


class QueueResult(ctypes.Structure):
    """struct chario_queue_result."""

    _fields_ = (("user", c_uint64), ("result", c_int64))


class StoreLayout(Struct):
    """struct chario_store_layout."""

    _fields_ = (*_u32("size", "flags"), *_u64("max_areas", "alignment_bytes"))


class StoreInfo(Struct):
    """struct chario_store_info."""

    _fields_ = (
        *_u32("size", "version"),
        ("uuid", c_uint8 * 16),
        *_u64("created_ns", "capacity_bytes", "data_offset", "data_bytes", "table_bytes", "used_bytes", "free_bytes"),
        *_u64("largest_hole_bytes", "nr_holes", "alignment_bytes", "nr_areas", "max_areas"),
    )


class AreaInfo(Struct):
    """struct chario_area_info."""

    _fields_ = (
        *_u32("size", "flags"),
        *_u64("id", "offset", "bytes", "allocated_bytes", "created_ns", "changed_ns", "filled_bytes", "fill_tag"),
        ("name", c_char * 256),
        ("attributes", c_uint8 * 256),
    )


class Finding(Struct):
    """struct chario_finding."""

    _fields_ = (
        *_u32("size", "damage", "severity", "copy"),
        *_u64("block", "offset"),
        *_u32("repaired", "reserved"),
        ("name", c_char * 256),
        ("other", c_char * 256),
        ("text", c_char * 256),
    )


PROGRESS = ctypes.CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p)


class Copy(Struct):
    """struct chario_copy."""

    _fields_ = (
        *_u32("size", "flags"),
        *_u64("offset", "bytes"),
        ("progress", PROGRESS),
        ("data", c_void_p),
        *_u32("step", "reserved"),
        *_u64("read_bytes", "written_bytes", "changed_bytes"),
    )


class StreamOptions(Struct):
    """struct chario_stream_options."""

    _fields_ = (
        *_u32("size", "flags", "segment_bytes", "nr_buffers", "durability", "record_bytes"),
        *_u64("flush_bytes", "flush_ns", "late_ns"),
    )


class StreamStatus(Struct):
    """struct chario_stream_status."""

    _fields_ = (
        *_u32("size", "durability"),
        *_u64("records", "bytes", "durable_records", "durable_bytes", "capacity_bytes", "segments"),
        *_u32("segment_bytes", "nr_buffers", "free_buffers", "least_free_buffers", "in_flight", "reduced"),
        *_u64("late", "late_ns", "longest_ns", "waits", "wait_ns", "lost_records", "lost_bytes", "retries", "flushes"),
        ("segment_ns", c_uint64 * 3),
    )


class StreamRoom(ctypes.Structure):
    """struct chario_stream_room."""

    _fields_ = (
        ("memory", c_void_p),
        ("bytes", c_size_t),
        ("buffer", c_void_p),
        *_u64("buffer_offset", "token"),
    )


class Record(ctypes.Structure):
    """struct chario_record."""

    _fields_ = (
        ("memory", c_void_p),
        ("bytes", c_size_t),
        *_u64("sequence", "time_ns"),
        *_u32("flags", "reserved"),
        *_u64("missing"),
    )


class Recording(Struct):
    """struct chario_recording."""

    _fields_ = (
        *_u32("size", "ended", "ring", "segment_bytes"),
        *_u64("session", "first_record", "next_record", "first_time_ns", "last_time_ns", "bytes"),
        *_u64("durable_records", "lost_records", "lost_bytes"),
        *_u32("torn_segments", "reads"),
        *_u64("missing_records", "missing_bytes", "records", "ended_ns"),
        *_u32("live", "reserved"),
        *_u64("lost_before", "unreadable_segments"),
    )


# The pointer to the recorder; C's other argument is left out.
RECORDER_PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p)


class Recorder(Struct):
    """struct chario_recorder."""

    _fields_ = (
        *_u32("size", "flags"),
        *_u64("record_bytes", "part_ns", "limit_bytes", "limit_ns"),
        ("progress", RECORDER_PROGRESS),
        ("data", c_void_p),
        *_u32("end", "reserved"),
        *_u64("taken_bytes", "waits", "wait_ns", "longest_wait_ns", "gaps", "gap_ns"),
    )


# The first argument of each callback of a player; C's other argument is left out.
PLAYER_TAKE = ctypes.CFUNCTYPE(c_int, c_void_p)
PLAYER_FAULT = ctypes.CFUNCTYPE(c_int, c_int)
PLAYER_WAIT = ctypes.CFUNCTYPE(c_int, c_void_p)


class Player(Struct):
    """struct chario_player."""

    _fields_ = (
        *_u32("size", "flags"),
        *_u64("until_ns", "limit_records", "limit_errors"),
        ("take", PLAYER_TAKE),
        ("fault", PLAYER_FAULT),
        ("wait", PLAYER_WAIT),
        ("data", c_void_p),
        *_u32("end", "reserved"),
        *_u64("records", "bytes", "missing", "errors", "from_ns"),
        ("step", c_void_p),
        *_u64("steps"),
    )


# C's names of the structs above.
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "chario_info": DeviceInfo,
    "chario_stats": DeviceStats,
    "chario_transfer": Transfer,
    "chario_queue_result": QueueResult,
    "chario_store_layout": StoreLayout,
    "chario_store_info": StoreInfo,
    "chario_area_info": AreaInfo,
    "chario_finding": Finding,
    "chario_copy": Copy,
    "chario_stream_options": StreamOptions,
    "chario_stream_status": StreamStatus,
    "chario_stream_room": StreamRoom,
    "chario_record": Record,
    "chario_recording": Recording,
    "chario_recorder": Recorder,
    "chario_player": Player,
}

AREA_VISIT = ctypes.CFUNCTYPE(c_int, POINTER(AreaInfo), c_void_p)
FINDING_VISIT = ctypes.CFUNCTYPE(c_int, POINTER(Finding), c_void_p)

_OUT = POINTER(c_void_p)

# The result of each function, then its arguments.
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "chario_error_name": (c_char_p, c_int),
    "chario_error_meaning_of": (c_char_p, c_int, c_uint32),
    "chario_error_advice_of": (c_char_p, c_int, c_uint32),
    "chario_device_open_any": (c_int, c_char_p, c_int, _OUT),
    "chario_device_close": (None, c_void_p),
    "chario_device_fd": (c_int, c_void_p),
    "chario_device_path": (c_char_p, c_void_p),
    "chario_device_set_urgent": (c_int, c_void_p, c_int),
    "chario_device_confine": (c_int, c_void_p, c_uint64, c_uint64, c_uint32, _OUT),
    "chario_device_get_info": (c_int, c_void_p, POINTER(DeviceInfo), c_size_t),
    "chario_device_get_stats": (c_int, c_void_p, POINTER(DeviceStats), c_size_t),
    "chario_transfer": (c_ssize_t, c_void_p, POINTER(Transfer), c_size_t),
    "chario_buffer_register": (c_int, c_void_p, c_void_p, c_size_t, ctypes.c_uint, _OUT),
    "chario_buffer_pool": (c_int, c_void_p, c_size_t, ctypes.c_uint, _OUT),
    "chario_buffer_mapping": (c_int, c_void_p, POINTER(c_uint64)),
    "chario_buffer_free": (c_int, c_void_p),
    "chario_buffer_memory": (c_void_p, c_void_p),
    "chario_buffer_id": (c_uint32, c_void_p),
    "chario_buffer_sync": (c_int, c_void_p, c_uint64, c_size_t, c_int),
    "chario_buffer_read": (c_ssize_t, c_void_p, c_uint64, c_size_t, c_uint64, ctypes.c_uint),
    "chario_buffer_write": (c_ssize_t, c_void_p, c_uint64, c_size_t, c_uint64, ctypes.c_uint),
    "chario_queue_open": (c_int, c_void_p, ctypes.c_uint, ctypes.c_uint, _OUT),
    "chario_queue_close": (c_int, c_void_p),
    "chario_queue_add": (c_int, c_void_p, POINTER(Transfer), c_uint64),
    "chario_queue_submit": (c_int, c_void_p),
    "chario_queue_reap": (c_int, c_void_p, POINTER(QueueResult), ctypes.c_uint, c_int64),
    "chario_queue_fd": (c_int, c_void_p),
    "chario_queue_in_flight": (ctypes.c_uint, c_void_p),
    "chario_store_format": (c_int, c_char_p, POINTER(StoreLayout)),
    "chario_store_upgrade": (c_int, c_char_p),
    "chario_store_open": (c_int, c_char_p, c_int, _OUT),
    "chario_store_close": (None, c_void_p),
    "chario_store_device": (c_void_p, c_void_p),
    "chario_store_get_info": (c_int, c_void_p, POINTER(StoreInfo), c_size_t),
    "chario_store_each": (c_int, c_void_p, AREA_VISIT, c_void_p),
    "chario_store_find": (c_int, c_void_p, c_char_p, POINTER(AreaInfo), c_size_t),
    "chario_store_create": (c_int, c_void_p, c_char_p, c_uint64, ctypes.c_uint),
    "chario_store_rename": (c_int, c_void_p, c_char_p, c_char_p),
    "chario_store_replace": (c_int, c_void_p, c_char_p, c_char_p),
    "chario_store_exchange": (c_int, c_void_p, c_char_p, c_char_p),
    "chario_store_set_attributes": (c_int, c_void_p, c_char_p, c_char_p),
    "chario_store_resize": (c_int, c_void_p, c_char_p, c_uint64),
    "chario_store_remove": (c_int, c_void_p, c_char_p),
    "chario_store_defrag": (c_int, c_void_p, PROGRESS, c_void_p),
    "chario_store_check": (c_int, c_char_p, ctypes.c_uint, FINDING_VISIT, c_void_p),
    "chario_damage_name": (c_char_p, c_uint32),
    "chario_area_open": (c_int, c_void_p, c_char_p, c_int, _OUT),
    "chario_area_close": (None, c_void_p),
    "chario_area_get_info": (c_int, c_void_p, POINTER(AreaInfo), c_size_t),
    "chario_area_confine": (c_int, c_void_p, c_uint32, _OUT),
    "chario_area_read": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_uint64),
    "chario_area_write": (c_ssize_t, c_void_p, c_void_p, c_size_t, c_uint64),
    "chario_area_read_buffer": (c_ssize_t, c_void_p, c_void_p, c_uint64, c_size_t, c_uint64, ctypes.c_uint),
    "chario_area_write_buffer": (c_ssize_t, c_void_p, c_void_p, c_uint64, c_size_t, c_uint64, ctypes.c_uint),
    "chario_area_sync": (c_int, c_void_p),
    "chario_area_set_filled": (c_int, c_void_p, c_uint64, c_uint64),
    "chario_copy_in": (c_int, c_void_p, c_int, POINTER(Copy)),
    "chario_copy_out": (c_int, c_void_p, c_int, POINTER(Copy)),
    "chario_copy_update": (c_int, c_void_p, c_int, POINTER(Copy)),
    "chario_view_load": (c_int, c_void_p, c_uint64, c_size_t, c_void_p, c_uint64, c_int, _OUT),
    "chario_view_mark": (c_int, c_void_p, c_uint64, c_size_t),
    "chario_view_flush": (c_int, c_void_p, ctypes.c_uint, POINTER(c_uint64)),
    "chario_view_reload": (c_int, c_void_p),
    "chario_view_unload": (c_int, c_void_p, c_int),
    "chario_view_tracking": (ctypes.c_uint, c_void_p),
    "chario_view_dirty_bytes": (c_int, c_void_p, POINTER(c_uint64)),
    "chario_stream_open": (c_int, c_void_p, c_char_p, POINTER(StreamOptions), _OUT),
    "chario_stream_close": (c_int, c_void_p),
    "chario_stream_get": (c_int, c_void_p, c_size_t, c_int64, POINTER(StreamRoom)),
    "chario_stream_commit": (c_int, c_void_p, POINTER(StreamRoom), c_size_t, c_uint64, ctypes.c_uint),
    "chario_stream_write": (c_int, c_void_p, c_void_p, c_size_t, c_uint64, ctypes.c_uint, c_int64),
    "chario_stream_lose": (c_int, c_void_p, c_uint64, c_uint64),
    "chario_stream_service": (c_int, c_void_p),
    "chario_stream_fd": (c_int, c_void_p),
    "chario_stream_wait": (c_int, c_void_p, c_uint64, c_int64),
    "chario_stream_get_status": (c_int, c_void_p, POINTER(StreamStatus), c_size_t),
    "chario_stream_room_bytes": (c_size_t, c_void_p),
    "chario_recorder_run": (c_int, c_void_p, c_int, POINTER(Recorder)),
    "chario_player_run": (c_int, c_void_p, POINTER(Player)),
    "chario_reader_open": (c_int, c_void_p, c_char_p, _OUT),
    "chario_reader_close": (None, c_void_p),
    "chario_reader_get_recording": (c_int, c_void_p, POINTER(Recording), c_size_t),
    "chario_reader_boottime_ns": (c_uint64, c_void_p),
    "chario_reader_next": (c_int, c_void_p, c_int64, POINTER(Record)),
    "chario_reader_seek": (c_int, c_void_p, c_uint64),
    "chario_reader_seek_newest": (c_int, c_void_p, c_uint64),
    "chario_reader_seek_time": (c_int, c_void_p, c_uint64),
}
