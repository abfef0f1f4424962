# SPDX-License-Identifier: MIT
"""Which layer a symbol of the guest's kernel belongs to, and what is watched there."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

USER = "user"
OTHER = "other"
IDLE = "idle"

WATCH_NONE, WATCH_IRQ, WATCH_TICK, WATCH_SWITCH, WATCH_STORES, WATCH_COPY, WATCH_FILL = range(7)

WATCHED = {"common_interrupt": WATCH_IRQ, "sysvec_apic_timer_interrupt": WATCH_TICK, "__switch_to_asm": WATCH_SWITCH}

# Points of a call (lab/plugin/points.h). The plugin finds the first two by itself; a function is another one's begin.
DOORBELL, WAKE, INTERRUPT, HANDLER, OWN_POINTS = range(1, 6)

CALL_POINTS = {
    "asm_common_interrupt": INTERRUPT,
    "nvme_irq": HANDLER,
    "chario_nvme_queue_irq": HANDLER,
    "ahci_single_level_irq_intr": HANDLER,
    "ahci_multi_irqs_intr_hard": HANDLER,
}

# Assembly that moves bytes and keeps nothing on the stack: whatever it stores is copied, or cleared.
COPIES = re.compile(
    r"(__)?(memcpy|memmove)|(memcpy|memmove)_(orig|erms)|copy_(page|mc_fragile|mc_enhanced_fast_string)"
    r"|copy_user_(generic|short|enhanced_fast)_\w+|__copy_user_\w*nocache|rep_movs_alternative"
)
FILLS = re.compile(
    r"(__)?memset|memset_(orig|erms)|clear_(page|user)_(orig|original|rep|rep_good|erms)|rep_stos_alternative"
)

# Modules whose stores may ring a doorbell.
DRIVERS = frozenset({"nvme", "chario", "libahci"})

TABLE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class _Rules:
    """layers.toml, turned around: from a name to its layer."""

    order: tuple[str, ...]
    modules: Mapping[str, str]
    names: Mapping[str, str]
    prefixes: Mapping[str, str]


def _read_rules() -> _Rules:
    table = tomllib.loads(TABLE.read_text())
    kinds = ("modules", "names", "prefixes")
    found = {kind: {word: layer for layer, words in table.items() for word in words.get(kind, ())} for kind in kinds}
    return _Rules((USER, OTHER, *table), **found)


_RULES = _read_rules()

LAYERS: tuple[str, ...] = _RULES.order


@dataclass(frozen=True)
class Symbol:
    """A function of the guest's kernel or of one of its modules."""

    address: int
    name: str
    module: str
    layer: str
    watch: int
    point: int = 0


def parse_kallsyms(
    text: str, chario: Mapping[str, str] | None = None, points: Mapping[str, int] | None = None
) -> list[Symbol]:
    """Functions in the order of their addresses; of names for one address the first.

    `chario` tells the layer of a function of chario.ko by its name, `points` which functions begin a point of an
    operation, such as CALL_POINTS; without them the plugin keeps none.
    """
    found: dict[int, Symbol] = {}
    for line in text.splitlines():
        address_text, kind, name, *module = line.split()
        if kind not in "tTwW":
            continue
        address = int(address_text, 16)
        module_name = module[0].strip("[]") if module else ""
        symbol = _symbol(address, name, module_name, chario or {}, (points or {}).get(name, 0))
        known = found.get(address)
        if known is None or (symbol.watch and not known.watch) or (symbol.point and not known.point):
            found[address] = symbol
    return [found[address] for address in sorted(found)]


def _symbol(address: int, name: str, module: str, chario: Mapping[str, str], point: int) -> Symbol:
    if module:
        layer = _RULES.modules.get(module, OTHER)
        if module == "chario":
            layer = chario.get(name, layer)
        watch = WATCH_STORES if module in DRIVERS else WATCH_NONE
    else:
        layer = layer_of(name)
        watch = watch_of(name)
    return Symbol(address, name, module, layer, watch, point)


def watch_of(name: str) -> int:
    """What is watched in a function of the kernel proper."""
    if COPIES.fullmatch(name):
        return WATCH_COPY
    if FILLS.fullmatch(name):
        return WATCH_FILL
    return WATCHED.get(name, WATCH_NONE)


def layer_of(name: str) -> str:
    """The layer of a function of the kernel proper; the compiler's additions to a name do not matter."""
    plain = name.partition(".")[0]
    for spelling in (plain, plain.lstrip("_")):
        if spelling in _RULES.names:
            return _RULES.names[spelling]
        for length in range(len(spelling), 0, -1):
            if spelling[:length] in _RULES.prefixes:
                return _RULES.prefixes[spelling[:length]]
    return OTHER


def render_map(symbols: Sequence[Symbol]) -> str:
    """The map as the plugin reads it: a line of address, layer number, watch and point a symbol."""
    number = {layer: index for index, layer in enumerate(LAYERS)}
    return "".join(f"{s.address:x} {number[s.layer]} {s.watch} {s.point}\n" for s in symbols)
