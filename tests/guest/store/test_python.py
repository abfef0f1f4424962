# SPDX-License-Identifier: MIT
"""The Python package on a character disk: its buffers are the module's memory."""

import json

import pytest
from programs import BUILD, TOP

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("python/", "lib/include/"), pytest.mark.smoke]

LIMIT_S = 300

PROGRAM = """
import chario, json, mmap, sys

def mappings(disk):
    with open("/proc/self/maps") as maps:
        return maps.read().count(disk)

disk = sys.argv[1]
chario.Store.format(disk, replace=True)
with chario.Store(disk, writable=True) as store:
    device = store.device
    store.create("a", 1 << 20)
    area = store.open("a", writable=True)
    before, mapped_before = device.stats, mappings(disk)
    buffer = chario.Buffer.pool(store, 1 << 16)
    view = memoryview(buffer)
    maps = mappings(disk) - mapped_before
    view[:] = bytes(range(256)) * 256
    area.store(buffer, durable=True)
    view[:] = bytes(1 << 16)
    area.load(buffer)
    refused = False
    try:
        store.close()
    except BufferError:
        refused = True
    same = view[:256] == bytes(range(256)) and area.read(256, 256) == bytes(range(256))
    view.release()
    after = device.stats
    with area.view(buffer, 8192, 1 << 16) as part:
        tracking = part.tracking.name
        view = memoryview(buffer)
        view[4096:4101] = b"hello"
        flushed = part.flush()
        view.release()
    mapped = mmap.mmap(-1, 8192)
    with chario.Buffer.register(store, mapped) as other, chario.Queue(store, 4) as queue:
        queue.read(other, area.info.offset + 512, 4096 * 2, user="read")
        queue.submit()
        results = [(result.user, result.bytes) for result in queue.reap()]
    place = area.info.offset
    with chario.Device(disk, writable=True) as whole, whole.confine(place, 1 << 20) as part:
        whole.set_urgent()
        pool = chario.Buffer.pool(part, 4096)
        part.read(pool, 512)
        confined = [bytes(pool)[:5] == area.read(5, 512), part.info.capacity_bytes, part.info.offset_bytes == place]
        pool.close()
    with area.confine(read_only=True) as only:
        confined.append((only.info.capacity_bytes, only.info.offset_bytes) == (1 << 20, place))
    store.create("camera", 8 << 20)
    with chario.Stream(store, "camera", segment_bytes=1 << 16) as stream:
        for number in range(100):
            with stream.room(10000) as room:
                room[:4] = number.to_bytes(4, "little")
        stream.wait()
        durable = stream.status.durable_records
    numbers = [int.from_bytes(record.data[:4], "little") for record in chario.Reader(store, "camera")]
    json.dump(
        {
            "backend": device.info.backend,
            "same": same,
            "refused": refused,
            "maps": maps,
            "writes": after.write_commands - before.write_commands,
            "results": results,
            "view": [tracking, flushed, area.read(5, 8192 + 4096).decode()],
            "confined": confined,
            "first": mapped[0],
            "durable": durable,
            "records": numbers == list(range(100)),
        },
        sys.stdout,
    )
"""


def test_the_package_on_a_disk(guest: Guest, disk512: str) -> None:
    """Views of a pool are views of what the drive reads; nothing is freed under them; recordings too."""
    library = BUILD / "lib" / "libchario.so.0"
    assert library.exists(), f"{library} is missing: run make user, or set CHARIO_BUILD to the folder of the build"
    run = f"env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={TOP / 'python/src'} CHARIO_LIBRARY={library} python3 - {disk512}"
    found = json.loads(guest.must(run, LIMIT_S, stdin=PROGRAM))
    assert found == {
        "backend": "nvme",
        "same": True,
        "refused": True,
        "maps": 2,  # the library's and Python's
        "writes": 1,
        "results": [["read", 8192]],
        "view": ["COMPARE", 4096, "hello"],  # of the library's mapping
        "confined": [True, 1 << 20, True, True],
        "first": 0,
        "durable": 100,
        "records": True,
    }
