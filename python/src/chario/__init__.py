# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""CharIO from Python: stores of named areas, recordings, buffers without copies.

    import chario

    with chario.Store("/dev/chardisk0", writable=True) as store:
        store.create("scan", 64 << 20)
        with store.open("scan", writable=True) as area, chario.Buffer.pool(store, 1 << 20) as buffer:
            buffer[:5] = b"hello"
            area.store(buffer)
            area.sync()

Errors are ChariOError, an OSError whose message gives advice.  A store can be
on a plain file too.  The manual pages of libchario describe the functions.
"""

from chario.area import Area
from chario.buffer import Buffer, PoolBuffer, RegisteredBuffer
from chario.device import Device, DeviceInfo, DeviceStats
from chario.errors import ChariOError, NoSuchArea
from chario.queue import Queue, Result
from chario.reader import Played, PlayEnd, Reader, Record, Recording
from chario.store import AreaInfo, Finding, Report, Severity, Store, StoreInfo
from chario.stream import Durability, End, Recorded, Room, Stream, StreamStatus
from chario.view import Tracking, View

__all__ = [
    "Area",
    "AreaInfo",
    "Buffer",
    "ChariOError",
    "Device",
    "DeviceInfo",
    "DeviceStats",
    "Durability",
    "End",
    "Finding",
    "NoSuchArea",
    "PlayEnd",
    "Played",
    "PoolBuffer",
    "Queue",
    "Reader",
    "Record",
    "Recorded",
    "Recording",
    "RegisteredBuffer",
    "Report",
    "Result",
    "Room",
    "Severity",
    "Store",
    "StoreInfo",
    "Stream",
    "StreamStatus",
    "Tracking",
    "View",
]

__version__ = "0.1.0"
