#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Comments are sentences that a stranger understands at the first reading.

A machine cannot judge prose, but it can reject openings that leave a reader
without a subject: a clause in place of a noun ("What is left."), a pronoun
that nothing precedes ("They wait."), a sentence that continues nothing ("Or
it is lost."), a result without a verb ("0 or an error.").  The text of a
member or an argument in kernel-doc must be a noun phrase ("length in bytes"),
not the rest of a sentence ("of the area").
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

# The folders that the check covers.
COVERED = ("cli", "gst", "kernel", "lib", "python", "scripts")

CLAUSE = "opens with a clause that has no subject: name the thing"
PRONOUN = "opens with a pronoun that nothing precedes: name the thing"
FRAGMENT = "continues a sentence that is not there: make it whole"
RESULT = 'is a result without a verb: say "Returns ..."'
MEMBER = "is no noun phrase: name the thing and its unit"

# A question may open with its interrogative; a subordinate clause may open a sentence
# whose main clause follows behind a comma.
CLAUSES = re.compile(
    r"((?:Who|Whoever|Whose|Whatever|What|That|Which|Whether|How|Those|One (?:that|who|whose|which))\b(?=[^?]*$)|"
    r"(?:As|Where|When|While|If|Until|Because|Although)\b(?=[^,?]*$))"
)
PRONOUNS = re.compile(
    r"((It|Its|They|Their|Theirs|Them|He|His|The others)\b|"
    r"The (same|other|one|ones|latter)(?= (of|in|as|for|with|at|by|that|who|is|are|has|have)\b|[,.;:]|$))"
)
FRAGMENTS = re.compile(r"(Or|Nor|And|But|So|Also|Then|Of|Nobody's)\b")
RESULTS = re.compile(
    r"(-?\d+|NULL|-E[A-Z0-9]+|0x\w+)( also)?,? (or|when|where|if|for|else|unless|without|with|after|in|on|at)\b"
)
MEMBERS = re.compile(
    r"((?:what|who|whose|whom|which|where|when|why|how|that|those|they|their|it|its|as|so|of|or|also)\b|"
    r"(?:is|are|was|were|has|have|had)\b|one (?:that|whose)\b)"
)

# The forms that may not open a comment, and those that may not open any sentence of it.
OPENINGS = ((CLAUSES, CLAUSE), (PRONOUNS, PRONOUN), (FRAGMENTS, FRAGMENT), (RESULTS, RESULT))
SENTENCES = ((re.compile(r"(Who|Whoever|Whose)\b[^?]*$"), CLAUSE), (RESULTS, RESULT))

# Strings are matched, too, so that the marks of a comment inside a string do not count.
C_TOKEN = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|(?://[^\n]*(?:\n[ \t]*(?=//))?)+', re.DOTALL
)
HASH_COMMENT = re.compile(r"(?:^[ \t]*#(?!!)[^\n]*\n?)+", re.MULTILINE)
KERNEL_DOC_ITEM = re.compile(r"(?:^|\n)(?:@[\w.]+:|(?:(?:struct|enum|union) )?\w+(?:\(\))? - )", re.MULTILINE)


def plain(comment: str) -> str:
    """The text of a comment without its marks, line by line."""
    lines = re.sub(r"^/\*+|\*+/$", "", comment).split("\n")
    return "\n".join(re.sub(r"^\s*(\*|//|#)? ?", "", line) for line in lines)


def judge(text: str, forms: tuple[tuple[re.Pattern[str], str], ...]) -> tuple[str, str] | None:
    """Returns the opening words of a text that has one of these forms, and the reason against them."""
    for form, reason in forms:
        match = form.match(text)
        if match:
            return match[1], reason
    return None


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields offset and words of each sentence of prose; lists and drawings are indented."""
    for paragraph in re.finditer(r"(?:[^\n]+(?:\n|$))+", text):
        if paragraph[0].startswith(("\t", "  ")):
            continue
        for sentence in re.finditer(r"\S.*?(?:[.?!](?=\s+[A-Z0-9-])|$)", paragraph[0].rstrip(), re.DOTALL):
            yield paragraph.start() + sentence.start(), " ".join(sentence[0].split())


def judge_prose(text: str, openings: tuple[tuple[re.Pattern[str], str], ...]) -> Iterator[tuple[int, str, str]]:
    """Yields offset, words and reason of each bad opening; the first sentence has forms of its own."""
    forms = openings
    for offset, sentence in sentences(text):
        found = judge(sentence, forms)
        if found:
            yield offset, *found
        forms = SENTENCES


def judge_kernel_doc(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the bad openings of a documentation comment: in its summary, its members and its prose."""
    items = list(KERNEL_DOC_ITEM.finditer(text))
    for item, after in zip(items, [*items[1:], None], strict=True):
        end = after.start() if after else len(text)
        described, _, prose = text[item.end() : end].partition("\n\n")
        words = " ".join(described.split())
        found = judge(words, ((MEMBERS, MEMBER), (CLAUSES, CLAUSE)))
        if found:
            yield item.end(), *found
        for offset, opening, reason in judge_prose(prose, SENTENCES):
            yield end - len(prose) + offset, opening, reason


def judge_comment(comment: str) -> Iterator[tuple[int, str]]:
    """Yields line and mistake of each bad opening in a comment, whose first line may name the licence."""
    text = re.sub(r"\A.*SPDX-License-Identifier.*", "", plain(comment))
    judged = judge_kernel_doc(text) if comment.startswith("/**") else judge_prose(text, OPENINGS)
    for offset, opening, reason in judged:
        yield text.count("\n", 0, offset), f'"{opening} ..." {reason}'


def comments(path: PurePosixPath, text: str) -> Iterator[tuple[int, str]]:
    """Yields offset and text of each comment, and of the first line of each documentation string."""
    if path.suffix in {".c", ".h"}:
        for match in C_TOKEN.finditer(text):
            if match[0].startswith("/"):
                yield match.start(), match[0]
    elif path.suffix in {".py", ".sh"}:
        for match in HASH_COMMENT.finditer(text):
            yield match.start(), match[0]
    if path.suffix == ".py":
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = ast.get_docstring(node)
                if first:
                    yield sum(map(len, lines[: node.body[0].lineno - 1])), first.split("\n")[0]


def check(tree: Tree) -> Iterator[Finding]:
    """Finds comments that leave a reader without a subject."""
    for path in tree.below(*COVERED):
        text = tree.text(path) or ""
        for start, comment in comments(path, text):
            for lines, mistake in judge_comment(comment):
                yield Finding(path, line_of(text, start) + lines, mistake)


if __name__ == "__main__":
    main(check, "Finds comments that leave a reader without a subject.")
