# SPDX-License-Identifier: MIT
"""Small files of a guest, sysfs above all, read and written without starting a process.

    guest.files.value("/sys/class/chario/chardisk0/state")        "live"
    guest.files.values("/sys/class/chario/chardisk0/counters")    {"requests": "12", ...}
    guest.files.write(path, "300")

A process costs an emulated processor a tenth of a second, a read by the agent a
hundredth.  The agent does nothing else meanwhile: a file whose write waits, for
a drive for instance, is a matter for Guest.run().  What the guest refuses is
raised here as the OSError that it was there.
"""

import os
from collections.abc import Callable, Mapping


class Files:
    """The files of one guest; `ask` carries a request to its agent and back."""

    def __init__(self, ask: Callable[[str, Mapping[str, str]], object]) -> None:
        self._ask = ask

    def read(self, path: str) -> str:
        """The content of a file."""
        return str(self._ask("read", {"path": path}))

    def value(self, path: str) -> str:
        """The content of a file of one line, without the end of that line."""
        return self.read(path).removesuffix("\n")

    def values(self, folder: str) -> dict[str, str]:
        """The values of all files in a folder that can be read."""
        found = self._ask("read_folder", {"path": folder})
        assert isinstance(found, dict)
        return {name: text.removesuffix("\n") for name, text in found.items()}

    def write(self, path: str, text: object) -> None:
        """Write to a file that is there, in one call."""
        self._ask("write", {"path": path, "text": f"{text}"})

    def touch(self, path: str) -> None:
        """Make an empty file, where there is none of this name."""
        self._ask("touch", {"path": path})

    def remove(self, *paths: str) -> None:
        """Remove files; each must be there."""
        for path in paths:
            self._ask("remove", {"path": path})

    def list(self, folder: str) -> list[str]:
        """Names of what is in a folder, in order."""
        names = self._ask("list", {"path": folder})
        assert isinstance(names, list)
        return names

    def resolve(self, path: str) -> str:
        """The path without symbolic links; what it names must be there."""
        return str(self._ask("resolve", {"path": path}))

    def exists(self, path: str) -> bool:
        """Whether something has this name."""
        try:
            self.resolve(path)
        except FileNotFoundError:
            return False
        return True


def answer_of(path: str, reply: Mapping[str, object]) -> object:
    """What the agent answered; raises the error that it met."""
    number = reply.get("errno")
    if isinstance(number, int):
        raise OSError(number, f"in the guest: {os.strerror(number)}", path)
    return reply["value"]
