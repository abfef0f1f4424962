# SPDX-License-Identifier: MIT
"""Which files of tests can share a guest, and where each finds its drives."""

from dataclasses import replace

from chario_lab.guest.spec import MOST_DRIVES, GuestSpec, Nvme, check
from chario_lab.testing.places import combine


def drives(name: str, count: int) -> tuple[Nvme, ...]:
    """Some drives of one file."""
    return tuple(Nvme(f"{name}-{n}") for n in range(count))


def test_each_finds_its_drives() -> None:
    """One guest has them all, with what any of them needs besides."""
    first = GuestSpec(drives=drives("first", 2), append="one=1 both")
    second = GuestSpec(drives=drives("second", 3), append="both two=2", qtest=True)
    places = combine([first, second, first])
    there = places[first].spec
    assert places[second].spec == there
    for spec in (first, second):
        begin = places[spec].first_drive
        assert there.drives[begin : begin + len(spec.drives)] == spec.drives
    assert there == GuestSpec(drives=first.drives + second.drives, append="one=1 both two=2", qtest=True)


def test_one_alone_has_a_guest_of_its_own() -> None:
    """Nothing is added to it."""
    spec = GuestSpec(drives=drives("only", 2), append="one=1", qtest=True)
    assert combine([spec])[spec].spec == spec


def test_what_differs_is_not_shared() -> None:
    """Another machine is another guest."""
    plain = GuestSpec(drives=drives("plain", 1))
    other = GuestSpec(drives=drives("other", 1))
    others = [replace(other, iommu=True), replace(other, native_hotplug=True), replace(other, cpus=1)]
    places = combine([plain, *others])
    assert len({place.spec for place in places.values()}) == len(places) == 4


def test_a_guest_is_not_overfull() -> None:
    """What does not fit into the first goes into the next, and what fits again goes into the first."""
    half = MOST_DRIVES // 2 + 1
    large, larger, small = (GuestSpec(drives=drives(str(n), n)) for n in (half, half + 1, MOST_DRIVES - half))
    places = combine([large, larger, small])
    assert places[large].spec == places[small].spec != places[larger].spec
    for place in places.values():
        check(place.spec)


def test_serial_numbers_stay_different() -> None:
    """Two files may each have a drive of one name."""
    places = combine([GuestSpec(drives=drives("same", 2)), GuestSpec(drives=drives("same", 3))])
    (spec,) = {place.spec for place in places.values()}
    check(spec)
    assert len({drive.serial for drive in spec.drives}) == 5
