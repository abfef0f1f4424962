# SPDX-License-Identifier: MIT
"""Mutations made of C sources: flushes, bounds, checked results, guards and loops, removed or changed in turn.

The sources are as clang-format leaves them, and that is all that is known of C here: a function
begins with a brace in the first column, and a condition stands in one pair of parentheses.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# The most dangerous first.
KINDS = ("flush", "bound", "result", "guard", "loop")

NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])*\'|^#[^\n]*', re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^\w[^\n;{}=]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
RETURNS_ERROR = re.compile(r"^(?:static )?(?:inline )?int (\w+)\(", re.MULTILINE)
FLUSHES = re.compile(r"\b(?:CHARIO_TRANSFER_FUA\b|chario_(?:store_sync|area_sync|device_settle)(?=\())")
FLUSH_DUE = re.compile(r"(?<=flush_ready = )true")
GUARD = re.compile(
    r"(?:(?<=if \()|(?<=while \()|(?<=&& )|(?<=\|\| )|(?<=; )|(?<=return ))!?(?:err|ret)\b(?: <=? 0)?"
    r"(?=\)| &&| \|\||; [a-z+]| \?)"
)
COMPARISON = re.compile(r" (<=|>=|<|>) (?!0\b)")
SMALLER = re.compile(r"\b(?:MIN|MAX)(?=\()")
LIMITS = re.compile(r"&&|\|\||[?:;,{}]|(?<![=!<>+*/|&-])=(?!=)|\breturn\b")
RELAXED = {"<": "<=", ">": ">=", "<=": "<= 1 +", ">=": "+ 1 >="}


@dataclass(frozen=True)
class Change:
    """A part of a text and what is to stand there, of one of KINDS."""

    kind: str
    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Site:
    """A mutation: its name, which no change elsewhere changes, its line, and the function before and after."""

    name: str
    kind: str
    file: str
    line: int
    find: str
    replace: str


def mask(text: str) -> str:
    """A source in which comments, texts and directives are blank, each character where it was."""
    return NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def returning_errors(texts: list[str]) -> set[str]:
    """The functions that return an error as an int."""
    return {name for text in texts for name in RETURNS_ERROR.findall(mask(text))}


def generate(file: str, text: str, checked: set[str]) -> list[Site]:
    """All mutations of a source; @checked are the functions whose result is an error."""
    sites: list[Site] = []
    names: dict[str, int] = {}
    for function in FUNCTION.finditer(mask(text)):
        whole = text[function.start() : function.end()]
        for change in changes(function[2], text[function.start(2) : function.end(2)], checked):
            start, end = (function.start(2) + place for place in (change.start, change.end))
            was, now = (" ".join(part.split()) for part in (text[start:end], change.text))
            name = f"{file}:{function[1]}: {change.kind}: {was}" + (f" -> {now}" if change.kind != "result" else "")
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name += f" #{names[name]}"
            place, line = start - function.start(), text.count("\n", 0, start) + 1
            mutated = whole[:place] + change.text + whole[place + end - start :]
            sites.append(Site(name, change.kind, file, line, whole, mutated))
    return sorted(sites, key=lambda site: KINDS.index(site.kind))


def changes(body: str, unmasked: str, checked: set[str]) -> Iterator[Change]:
    """All mutations of the body of a function; a call that remains has its texts."""
    for found in [*FLUSHES.finditer(body), *FLUSH_DUE.finditer(body)]:
        end = closing(body, found.end()) if body[found.end()] == "(" else found.end()
        yield Change("flush", found.start(), end, "0")
    for found in re.finditer(r"\b(\w+)\(", body):
        end = closing(body, found.end() - 1)
        if found[1] in checked and is_used(body, found.start()) and not is_of_other(body, found.start(), end):
            call = unmasked[found.start() : end]
            yield Change("result", found.start(), end, f"({{ int is = {call}; is < 0 ? 0 : is; }})")
    for found in GUARD.finditer(body):
        yield Change("guard", *found.span(), "1" if found[0].startswith("!") else "0")
    for found in SMALLER.finditer(body):
        end = closing(body, found.end())
        for argument in arguments(body[found.end() + 1 : end - 1]):
            yield Change("bound", found.start(), end, argument)
    for found in COMPARISON.finditer(body):
        yield from of_comparison(body, found)


def of_comparison(body: str, found: re.Match[str]) -> Iterator[Change]:
    """What becomes of a comparison: one of a loop is relaxed by one, another has no say."""
    start, end = term(body, found.start())
    before, behind = body[:start].rstrip(), body[end:].lstrip()
    if is_of_loop(body, start):
        yield Change("loop", *found.span(1), RELAXED[found[1]])
        return
    values = "0" if before.endswith("if (") else "01"
    if before.endswith("||") or behind.startswith("||"):
        values = "0"
    elif before.endswith("&&") or behind.startswith("&&"):
        values = "1"
    for value in values:
        yield Change("bound", start, end, value)


def is_used(body: str, start: int) -> bool:
    """Whether anything is done with the result of a call."""
    return body[:start].rstrip()[-1:] not in (";", "{", "}", "", ")", ":") or body[:start].endswith("return ")


def is_of_other(body: str, start: int, end: int) -> bool:
    """Whether a call is one of a member, or of a static function of the same name that returns a pointer."""
    return body[:start].endswith(("->", ".")) or body[end:].startswith("->")


def closing(text: str, at: int) -> int:
    """The place behind the parenthesis that closes the one at a place."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place + 1
    raise ValueError(f"no end of {text[at : at + 20]}")


def arguments(text: str) -> list[str]:
    """The arguments of a call."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def term(body: str, at: int) -> tuple[int, int]:
    """The term of a condition that a place is in."""
    start, depth = at, 0
    while depth >= 0 and body[start] not in ";{}" and start:
        start -= 1
        depth += (body[start] == ")") - (body[start] == "(")
    start += 1
    end, depth = at, 0
    while depth >= 0 and body[end] not in ";{":
        depth += (body[end] == "(") - (body[end] == ")")
        end += 1
    end -= depth < 0
    inner = flat(body[start:end])
    ends = [found.start() for found in LIMITS.finditer(inner, at - start)]
    begins = [found.end() for found in LIMITS.finditer(inner, 0, at - start)]
    first, last = (begins[-1] if begins else 0), (ends[0] if ends else len(inner))
    first += len(inner[first:last]) - len(inner[first:last].lstrip())
    return start + first, start + first + len(inner[first:last].rstrip())


def flat(text: str) -> str:
    """A text in which what stands in parentheses is blank."""
    letters, depth = [], 0
    for letter in text:
        depth -= letter == ")"
        letters.append(letter if depth <= 0 or letter == "\n" else "_")
        depth += letter == "("
    return "".join(letters)


def is_of_loop(body: str, at: int) -> bool:
    """Whether a place is in the head of a loop."""
    heads = re.finditer(r"\b(?:for|while) (?=\()", body[:at])
    return any(closing(body, found.end()) > at for found in heads)
