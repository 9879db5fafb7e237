"""What can be wrong with a results tree: a catalogue of changes, each drawn with a random generator.

Texts are changed in place, by spans of the original that are looked up once for each seed: a mutated leaf costs
microseconds, and what no serialiser would write (a key twice, 1e999, half a surrogate pair) costs no more.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from hostile import COMMANDS, KEYS, NUMBERS, ODD_NAMES, STAMPS, TEXTS, TIMES, WORDS, YAML_LINES, YAML_VALUES
from memory_tree import Directory, Locked, Odd, Special, copy

from mlpstorage.results.layout import PLACEHOLDER_TEXT

STAMP = re.compile(r"\d{8}_\d{6}")
"""The name of a leaf."""

_LARGE: tuple[Callable[[], str], ...] = (
    lambda: "[" * 90 + "]" * 90,
    lambda: "[" * 5000 + "]" * 5000,
    lambda: '{"a":' * 150 + "1" + "}" * 150,
    lambda: '{"a":' * 3000 + "1" + "}" * 3000,
    lambda: "[" + "1," * 9999 + "1]",
    lambda: "[" + '"host01",' * 9999 + '"x"]',
    lambda: "[" + '{"hostname": "h", "memory": {"total": 1}},' * 2000 + "{}]",
    lambda: "{" + ",".join(f'"key{n}": {n}' for n in range(5000)) + "}",
    lambda: '"' + "x" * 100_000 + '"',
    lambda: '"' + "\\u001b" * 5000 + '"',
    lambda: '"' + "a b=c " * 5000 + '"',
    lambda: '"' + "(" * 5000 + '"',
    lambda: '"' + "host01:8," * 5000 + '"',
)

YAML_DOCUMENTS: tuple[Callable[[], str], ...] = (
    lambda: "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)),
    lambda: "[" * 3000,
    lambda: "[" * 3000 + "]" * 3000,
    lambda: "- " * 3000 + "x\n",
    lambda: "? " * 3000 + "x\n",
    lambda: "".join(" " * n + "a:\n" for n in range(300)),
    lambda: "".join(f"key{n}: {n}\n" for n in range(2000)),
    lambda: "- x\n" * 5000,
    lambda: "a: |\n" + "  line\n" * 5000,
    lambda: "---\na: 1\n" * 500,
    lambda: "",
    lambda: "~\n",
    lambda: "8\n",
    lambda: "- a\n- b\n",
    lambda: "{a: 1}: 2\n",
    lambda: "!!set {a, b}\n",
    lambda: "{}\n",
)

SPECIALS = ("link", "FIFO", "socket", "character device", "block device", "special file")
_ERRORS = (errno.EIO, errno.EACCES, errno.ENOENT, errno.ESTALE, errno.EBADMSG, 0)
_ENDINGS = (b"", b"\n", b"\0", b"}", b"]", b",", b"\x1a", b"\r\n\r\n", b"\xff\xfe", b" x")


class Value(NamedTuple):
    """Where a JSON value stands in its text, and its member (the same for an item of a list); ``key`` as written."""

    start: int
    end: int
    member: int
    key: str
    kind: str


@dataclass(frozen=True, slots=True)
class Json:
    """A text of a seed with its values."""

    text: str
    values: tuple[Value, ...]
    by_key: dict[str, tuple[Value, ...]]


class _NotJsonError(Exception):
    """The text has no such structure."""


_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]?")
_YAML_LINE = re.compile(r"(\s*(?:- )*)([^:#]*:)?(\s*)(.*)")


def json_of(data: bytes) -> Json | None:
    """The values of a JSON text, or None where it is none."""
    values: list[Value] = []
    try:
        text = data.decode()
        end = _value(text, _skip(text, 0), -1, "", values)
        if _skip(text, end) != len(text):
            return None
    except (_NotJsonError, IndexError, UnicodeDecodeError, RecursionError):
        return None
    by_key: dict[str, list[Value]] = {}
    for value in values:
        by_key.setdefault(value.key, []).append(value)
    return Json(text, tuple(values), {key: tuple(found) for key, found in by_key.items()})


def _skip(text: str, at: int) -> int:
    return _BLANK.match(text, at).end()  # type: ignore[union-attr] # it matches nothing as well


def _value(text: str, at: int, member: int, key: str, values: list[Value]) -> int:
    """Note the value that begins at ``at`` and those in it. Gives its end."""
    first = text[at]
    if first in "{[":
        place = len(values)
        values.append(Value(at, at, member if member >= 0 else at, key, first))
        end = _skip(text, at + 1)
        while text[end] not in "}]":
            begin, name = end, key
            if first == "{":
                found = _STRING.match(text, end)
                if found is None:
                    raise _NotJsonError
                name, end = found[1], _skip(text, found.end())
                if text[end] != ":":
                    raise _NotJsonError
                end = _skip(text, end + 1)
            end = _skip(text, _value(text, end, begin, name, values))
            if text[end] == ",":
                end = _skip(text, end + 1)
        values[place] = values[place]._replace(end=end + 1)
        return end + 1
    found = (_STRING if first == '"' else _SCALAR).match(text, at)
    if found is None:
        raise _NotJsonError
    values.append(Value(at, found.end(), member if member >= 0 else at, key, '"' if first == '"' else "1"))
    return found.end()


Edit = tuple[int, int, str]
"""Start, end, and what takes the place of what is between."""


_DIGITS = bytes.maketrans(b"123456789", b"000000000")


@dataclass
class Corpus:
    """What all seeds are made of, to be found in the wrong place."""

    texts: dict[bytes, Json | None] = field(default_factory=dict)
    scalars: list[str] = field(default_factory=list)
    """Values as JSON has them, each once."""
    files: list[tuple[str, bytes]] = field(default_factory=list)
    """Names of files and their content."""
    leaves: list[Directory] = field(default_factory=list)
    _alike: dict[bytes, Json | None] = field(default_factory=dict)
    """By a text without its digits: leaves of different days have the same values at the same places."""
    _known: set[str] = field(default_factory=set)

    def learn(self, tree: Directory) -> None:
        """Take in a seed."""
        for name, node in tree.items():
            if isinstance(node, dict):
                if STAMP.fullmatch(name):
                    self.leaves.append(node)
                self.learn(node)
            elif isinstance(node, bytes):
                self.files.append((name, node))
                if node not in self.texts:
                    self.texts[node] = self._parsed(node)

    def _parsed(self, content: bytes) -> Json | None:
        if content[:1] not in (b"{", b"["):
            return None
        plain = content.translate(_DIGITS)
        if plain not in self._alike:
            found = self._alike[plain] = json_of(content)
            for value in () if found is None else found.values:
                scalar = found.text[value.start : value.end]
                if value.kind not in "{[" and scalar not in self._known:
                    self._known.add(scalar)
                    self.scalars.append(scalar)
        alike = self._alike[plain]
        return None if alike is None else Json(content.decode(), alike.values, alike.by_key)


class Mutator:
    """Draws changes and makes them; ``log`` tells which."""

    def __init__(self, random: Random, corpus: Corpus, log: list[str]) -> None:
        self.random, self._corpus, self.log = random, corpus, log

    # Whole trees.

    def leaf(self, parent: Directory, name: str, path: str, count: int) -> None:
        """Make ``count`` changes to a leaf: most in its texts, some to bytes, files, and to the directory itself."""
        leaf = parent[name]
        if not isinstance(leaf, dict):
            return
        draws = [self.random.random() for _ in range(count)]
        self._texts(leaf, path, sum(draw < 0.74 for draw in draws))
        for draw in draws:
            if 0.74 <= draw < 0.83:
                self.damage(*self._some_file(leaf, path))
            elif 0.83 <= draw < 0.95:
                self.file(*self._some_file(leaf, path))
            elif draw >= 0.95:
                self.leaf_directory(parent, name, path)
                return  # it may not be there any more

    def around(self, tree: Directory, files: Sequence[tuple[str, ...]], directories: Sequence[tuple[str, ...]]) -> None:
        """A change to what lies around the leaves: descriptions, code, and the levels of directories."""
        if files and self.random.random() < 0.75:
            *above, name = self.random.choice(files)
            parent = _at(tree, above)
            if parent is None or name not in parent:
                return
            path = "/".join((*above, name))
            draw = self.random.random()
            if draw < 0.7:
                self._text(parent, name, path, 1 + self.random.randrange(3))
            elif draw < 0.85:
                self.damage(parent, name, path)
            else:
                self.file(parent, name, path)
        elif directories:
            *above, name = self.random.choice(directories)
            parent = _at(tree, above)
            if parent is not None and name in parent:
                self.directory(parent, name, "/".join((*above, name)))

    def _some_file(self, directory: Directory, path: str) -> tuple[Directory, str, str]:
        """A file in a directory or below it; an empty one gets one first."""
        names = list(directory)
        if not names:
            directory["summary.json"] = b"{}"
            names = ["summary.json"]
        name = self.random.choice(names)
        node = directory[name]
        if isinstance(node, dict) and self.random.random() < 0.8:
            return self._some_file(node, f"{path}/{name}")
        return directory, name, f"{path}/{name}"

    # Texts.

    def _texts(self, leaf: Directory, path: str, count: int) -> None:
        """Changes to contents, those of one file made together, for all are places in the original."""
        wanted: dict[str, int] = {}
        chosen: dict[str, tuple[Directory, str]] = {}
        for _ in range(count):
            directory, name, full = leaf, "", ""
            if self.random.random() < 0.4:
                name = next((known for known in leaf if known.endswith("metadata.json")), "")
                full = f"{path}/{name}"
            if not name:
                directory, name, full = self._some_file(leaf, path)
            wanted[full] = wanted.get(full, 0) + 1
            chosen[full] = (directory, name)
        for full, number in wanted.items():
            self._text(*chosen[full], full, number)

    def _text(self, directory: Directory, name: str, path: str, count: int) -> None:
        content = directory[name]
        if not isinstance(content, bytes):
            return self.file(directory, name, path)
        parsed = self._corpus.texts.get(content)
        if parsed is not None:
            edits = [edit for _ in range(count) for edit in self._json(parsed)]
            directory[name] = _edited(parsed.text, edits)
            self.log.append(f"{path}: {[(parsed.text[a:b][:40], new[:80]) for a, b, new in edits]}")
            return None
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        for _ in range(count):
            lines = lines or [""]  # the last one may have been taken away
            (self._yaml if name.endswith((".yaml", ".yml")) else self._line)(lines, path)
        directory[name] = "\n".join(lines).encode("utf-8", "surrogateescape")
        return None

    def _json(self, parsed: Json) -> Iterable[Edit]:
        """A change to one value, or to all values that have its key."""
        value = self.random.choice(parsed.values)
        draw = self.random.random()
        if draw < 0.6:
            text = self._instead(parsed, value)
            if self.random.random() < 0.15:
                return [(v.start, v.end, text) for v in parsed.by_key[value.key]]
            return [(value.start, value.end, text)]
        written = parsed.text[value.member : value.end]
        if draw < 0.72:
            return [_without(parsed.text, value)]
        if draw < 0.78:
            return [(value.member, value.end, f"{written},{written}")]
        if draw < 0.82:
            return [(value.member, value.end, f"{written[: value.start - value.member]}{self._edge()},{written}")]
        if draw < 0.88 and value.member < value.start:
            return [(value.member, value.start, f'"{self._key(value.key)}": ')]
        if draw < 0.94:
            other = self.random.choice(parsed.values)
            texts = parsed.text[value.start : value.end], parsed.text[other.start : other.end]
            return [(value.start, value.end, texts[1]), (other.start, other.end, texts[0])]
        if draw < 0.97:
            wrapped = self.random.choice(("[{}]", '{{"{0}": {0}}}', '{{"value": {}}}', "[[{}]]", '"{}"'))
            return [(value.start, value.end, wrapped.format(parsed.text[value.start : value.end]))]
        return [(value.start, value.end, self.random.choice(_LARGE)() if self.random.random() < 0.3 else "[]")]

    def _instead(self, parsed: Json, value: Value) -> str:
        """What to write where a value stands: near to it, from anywhere in the seeds, or an edge."""
        draw, text = self.random.random(), parsed.text[value.start : value.end]
        if draw < 0.45:
            if value.kind == "1" and (text[0] == "-" or text[0].isdigit()):
                return self._number(text)
            if value.kind == '"':
                return f'"{self._string(text[1:-1], value.key)}"'
        if draw < 0.65 and self._corpus.scalars:
            return self.random.choice(self._corpus.scalars)
        if draw < 0.75:
            other = self.random.choice(parsed.values)
            return parsed.text[other.start : other.end]
        return self._edge()

    def _edge(self) -> str:
        draw = self.random.random()
        if draw < 0.4:
            return self.random.choice(NUMBERS)
        if draw < 0.7:
            return f'"{self.random.choice(TEXTS)}"'
        if draw < 0.8:
            return f'"{self.random.choice(TIMES)}"'
        return self.random.choice(WORDS)

    def _key(self, key: str) -> str:
        return self.random.choice(
            (*KEYS, key.upper(), key.title(), f" {key}", f"{key} ", key[:-1], f"{key}s", key[::-1])
        )

    def _number(self, text: str) -> str:
        draw = self.random.randrange(11)
        if draw < 3:
            return f"{text}{self.random.choice(('0', '.0', '.5', 'e2', 'e-3', 'e400', '00000000000000000000', 'x'))}"
        if draw < 5:
            return f'"{text}"'
        if draw < 6:
            return text[1:] if text[0] == "-" else f"-{text}"
        if draw < 8:
            return text[: self.random.randrange(len(text))] or "0"
        try:
            number = float(text) if any(c in text for c in ".eE") else int(text)
            return repr(number + self.random.choice((1, -1, 2, -number, number)))
        except (ValueError, OverflowError):
            return "0"

    def _string(self, text: str, key: str) -> str:
        """A changed text, as it stands between its quotes."""
        if "command" in key or len(text) > 200:
            return self._command(text)
        if _TIME.match(text) and self.random.random() < 0.7:
            if self.random.random() < 0.5:
                return self.random.choice(TIMES)
            at = self.random.randrange(len(text))
            return text[:at] + self.random.choice("0123459:-+ZT. ") + text[at + 1 :]
        draw = self.random.randrange(12)
        if draw == 0:
            return text.upper() if text.lower() == text else text.lower()
        if draw == 1:
            return f" {text} "
        if draw == 2:
            return text[: self.random.randrange(len(text) + 1)].rstrip("\\")
        if draw == 3:
            return f"{text}{text}"
        if draw == 4:
            return f"{text}{self.random.choice(TEXTS)}"
        if draw == 5:
            return f"{self.random.choice(TEXTS)}{text}"
        if draw == 6:
            return text.replace("/", self.random.choice(("//", "/../", "\\\\", "")))
        if draw == 7 and (found := _NUMBER.search(text)):
            return text[: found.start()] + self.random.choice(NUMBERS) + text[found.end() :]
        if draw == 8 and "\\" not in text and text:
            at = self.random.randrange(len(text))
            return text[:at] + self.random.choice(TEXTS) + text[at + 1 :]
        return self.random.choice(TEXTS)

    def _command(self, text: str) -> str:
        """A command line with a word changed, or something put in between."""
        words = text.split(" ")
        at = self.random.randrange(len(words))
        draw = self.random.randrange(9)
        if draw == 0:
            del words[at]
        elif draw == 1:
            words.insert(at, words[self.random.randrange(len(words))])
        elif draw == 2:
            words[at] += self.random.choice(COMMANDS)
        elif draw == 3:
            words[at] = self.random.choice(COMMANDS) + words[at]
        elif draw == 4:
            words[at] = f"{words[at].partition('=')[0]}={self.random.choice(TEXTS)}"
        elif draw == 5 and (found := _NUMBER.search(words[at])):
            words[at] = words[at][: found.start()] + self.random.choice(NUMBERS) + words[at][found.end() :]
        elif draw == 6:
            words[at] = self.random.choice(TEXTS)
        elif draw == 7:
            return " ".join(words[:at])
        elif self.random.random() < 0.04:
            words.insert(
                at, self.random.choice(("x" * 100_000, "a=b " * 25_000, "'" * 3001, "-host " * 5000, "(" * 9000))
            )
        return " ".join(words)

    def _yaml(self, lines: list[str], path: str) -> None:
        at = self.random.randrange(len(lines))
        line, draw = lines[at], self.random.random()
        found = _YAML_LINE.match(line)
        indent, key, blank, value = (part or "" for part in found.groups()) if found else ("", "", "", line)
        if draw < 0.4:
            new = [f"{indent}{key}{blank or ' '}{self._yaml_value(value)}"]
        elif draw < 0.48:
            new = []
        elif draw < 0.55:
            new = [line, line]
        elif draw < 0.65:
            new = [
                self.random.choice((f" {line}", f"  {line}", line[1:], line[2:], f"\t{line}", line.replace("  ", "\t")))
            ]
        elif draw < 0.75:
            new = [line, f"{indent.replace('-', ' ')}{self.random.choice(YAML_LINES)}"]
        elif draw < 0.82:
            other_key = self.random.choice((key.upper(), key.title(), f" {key}", key[:-1], f"? {key}", "x:", "0:"))
            new = [f"{indent}{other_key}{blank}{value}"]
        elif draw < 0.88:
            other = self.random.randrange(len(lines))
            lines[at], lines[other] = lines[other], line
            new = [lines[at]]
        elif draw < 0.94:
            del lines[at + 1 : at + 1 + self.random.randrange(12)]
            new = [line]
        elif draw < 0.97:
            new = [f"{indent}{key} {value} # x", "", "\r"]
        else:
            lines[:] = self.random.choice(YAML_DOCUMENTS)().split("\n")
            self.log.append(f"{path}: other document {lines[0][:80]!r}")
            return
        lines[at : at + 1] = new
        self.log.append(f"{path}:{at + 1}: {line[:60]!r} -> {[item[:80] for item in new]}")

    def _yaml_value(self, value: str) -> str:
        draw = self.random.random()
        if draw < 0.3 and _NUMBER.fullmatch(value):
            return self._number(value)
        if draw < 0.45 and self._corpus.scalars:
            return self.random.choice(self._corpus.scalars)
        if draw < 0.55:
            return f'"{self._string(value, "").replace(chr(34), "")}"'
        if draw < 0.7:
            return self._edge()
        return self.random.choice(YAML_VALUES)

    def _line(self, lines: list[str], path: str) -> None:
        """A change to a line of a log or a table."""
        at = self.random.randrange(len(lines))
        line, draw = lines[at], self.random.randrange(9)
        numbers = list(_NUMBER.finditer(line))
        if draw < 4 and numbers:
            found = self.random.choice(numbers)
            choice = self.random.choice((*NUMBERS, *TEXTS)) if draw < 3 else self._number(found[0]).strip('"')
            new = [line[: found.start()] + choice + line[found.end() :]]
        elif draw < 5:
            new = []
        elif draw < 6:
            new = [line] * self.random.choice((2, 2, 2, 50, 2000))
        elif draw < 7:
            other = self.random.randrange(len(lines))
            new, lines[other] = [lines[other]], line
        elif draw < 8:
            cut = self.random.randrange(len(line) + 1)
            new = [
                line[:cut]
                + self.random.choice((*TEXTS, "\0", "\x1b[2J", "\r", '"', "'", ",", "{", "[" * 3000, "x" * 20_000))
            ]
        else:
            new = [self._command(line)]
        lines[at : at + 1] = new or [""] * (len(lines) == 1)
        self.log.append(f"{path}:{at + 1}: {line[:60]!r} -> {[item[:80] for item in new[:3]]}")

    # Bytes.

    def damage(self, directory: Directory, name: str, path: str) -> None:
        """Change the bytes of a file."""
        content = directory[name]
        if not isinstance(content, bytes):
            return self.file(directory, name, path)
        size, r = len(content), self.random
        at = r.randrange(size + 1)
        to = min(size, at + r.choice((1, 1, 2, 4, 16, 64, 1000)))
        kind = r.randrange(14)
        if kind == 0:
            content = content[:at]
        elif kind == 1:
            content = content[:at] + bytes(255 - byte for byte in content[at:to]) + content[to:]
        elif kind == 2:
            content = (
                content[:at] + bytes(byte ^ (1 << r.randrange(8)) for byte in content[at : at + 1]) + content[at + 1 :]
            )
        elif kind == 3:
            content = content[:at] + r.randbytes(r.choice((1, 2, 8))) + content[at:]
        elif kind == 4:
            content = content[:at] + content[to:]
        elif kind == 5:
            content = content[:to] + content[at:to] * r.choice((1, 2, 20)) + content[to:]
        elif kind == 6:
            content = content[:at] + b"\0" * r.choice((1, 4, 4096)) + content[at:]
        elif kind == 7:
            content = r.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b", b"PK\x03\x04", b"\0")) + content
        elif kind == 8:
            content = content.decode("latin-1").encode(
                r.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7"))
            )
        elif kind == 9:
            bad = r.choice(
                (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xe2\x80\xa8")
            )
            content = content[:at] + bad + content[at:]
        elif kind == 10:
            content = content.replace(b"\n", r.choice((b"\r\n", b"\r", b"", b"\n\n", b"\x0b")))
        elif kind == 11:
            content += r.choice(_ENDINGS)
        elif kind == 12:
            content += content
        else:
            content = b"" if r.random() < 0.3 else content[at:]
        directory[name] = content
        self.log.append(f"{path}: bytes, kind {kind} at {at}")
        return None

    # Files and directories.

    def file(self, directory: Directory, name: str, path: str) -> None:
        """Do something to a file as a whole: let it be missing, another one, or no file."""
        r, node = self.random, directory[name]
        kind = r.randrange(16)
        if kind < 2:
            del directory[name]
        elif kind == 2:
            directory[name] = b""
        elif kind == 3:
            directory[name] = r.choice(
                (PLACEHOLDER_TEXT, PLACEHOLDER_TEXT + b"\n", b" " + PLACEHOLDER_TEXT, PLACEHOLDER_TEXT * 2)
            )
        elif kind == 4:
            other = r.choice(list(directory))
            directory[name], directory[other] = directory[other], node
        elif kind < 7 and self._corpus.files:
            same = name.rpartition("_")[2]
            some = [r.choice(self._corpus.files) for _ in range(6)]
            directory[name] = next((data for known, data in some if known.endswith(same)), some[0][1])
        elif kind == 7:
            directory[self._name(name)] = directory.pop(name)
        elif kind == 8:
            directory[self._name(name)] = copy(node) if isinstance(node, dict) else node
        elif kind < 11 and self._corpus.files:
            added, data = r.choice(self._corpus.files)
            directory[added if kind == 9 else self._name(added)] = data
        elif kind == 11:
            directory[name] = Special(r.choice(SPECIALS))
        elif kind == 12:
            directory[name] = {} if r.random() < 0.5 else {name: node}
        elif kind == 13:
            directory[name] = Odd(
                r.choice((0, 1, 100, 2**20, 2**21, 2**40)), node if isinstance(node, bytes) else b"", r.choice(_ERRORS)
            )
        elif kind == 14:
            directory[r.choice(ODD_NAMES)] = r.choice(
                (b"", b"x", b"{}", Special(r.choice(SPECIALS)), Locked(), Odd(5, b"", errno.EIO))
            )
        elif r.random() < 0.03:
            for number in range(1000):
                directory[f"{number}_{name}"] = b""
        else:
            directory[f"{r.randrange(20)}_{name}"] = node
        self.log.append(f"{path}: file, kind {kind}")

    def _name(self, name: str) -> str:
        r = self.random
        stem, dot, ending = name.rpartition(".")
        choice = r.randrange(7)
        if choice == 0:
            return name.upper()
        if choice == 1:
            return f"{name}.bak"
        if choice == 2 and (found := STAMP.search(name)):
            return name.replace(found[0], r.choice(STAMPS).replace("/", ""))
        if choice == 3:
            return f"{stem} (1){dot}{ending}"
        if choice == 4:
            return f".{name}"
        if choice == 5 and (found := _NUMBER.search(name)):
            return name.replace(found[0], r.choice(("0", "00", "-1", "99", "999999999999999999999", "٣", "x", "")))
        return r.choice(ODD_NAMES) + (f"{dot}{ending}" if r.random() < 0.5 else "")

    def leaf_directory(self, parent: Directory, name: str, path: str) -> None:
        """Do something to a leaf as a whole, its place and its name included."""
        r, node = self.random, parent[name]
        kind = r.randrange(9)
        if kind < 3:
            parent[r.choice(STAMPS)] = parent.pop(name)
        elif kind == 3:
            parent[r.choice(STAMPS)] = copy(node) if isinstance(node, dict) else node
        elif kind == 4 and self._corpus.leaves:
            parent[name] = copy(r.choice(self._corpus.leaves))
        elif kind == 5:
            parent[name] = {}
        elif kind == 6 and isinstance(node, dict):
            parent.pop(name)
            parent.update(node)
        else:
            return self.directory(parent, name, path)
        self.log.append(f"{path}: leaf, kind {kind}")
        return None

    def directory(self, parent: Directory, name: str, path: str) -> None:
        """Do something to a directory of any level."""
        r, node = self.random, parent[name]
        kind = r.randrange(13)
        if kind == 0:
            del parent[name]
        elif kind == 1:
            parent[
                r.choice(
                    (name.upper(), name.title(), f"{name} ", f".{name}", f"{name}-2", name[:-1] or "x", *ODD_NAMES)
                )
            ] = parent.pop(name)
        elif kind == 2 and isinstance(node, dict):
            parent.pop(name)
            parent.update(node)
        elif kind == 3:
            parent[name] = {r.choice((name, "results", "extra", "20260701_100000", *ODD_NAMES)): node}
        elif kind == 4:
            parent[name] = Special(r.choice(SPECIALS))
        elif kind == 5:
            parent[name] = Locked(r.choice((errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOENT, errno.ENAMETOOLONG)))
        elif kind == 6:
            parent[name] = r.choice((b"", b"{}", PLACEHOLDER_TEXT))
        elif kind == 7 and isinstance(node, dict):
            node[r.choice(ODD_NAMES)] = r.choice(({}, {"x": {"results": {}}}, b"x", Special("FIFO"), Locked()))
        elif kind == 8 and isinstance(node, dict) and node:
            node[r.choice(ODD_NAMES)] = node.pop(r.choice(list(node)))
        elif kind == 9:
            other = r.choice(list(parent))
            parent[name], parent[other] = parent[other], node
        elif kind == 10 and isinstance(node, dict):
            parent[r.choice((f"{name}x", *ODD_NAMES, *STAMPS))] = copy(node)
        elif kind == 11 and r.random() < 0.15 and isinstance(node, dict):
            deep: Directory = {"end": b""}
            for _ in range(r.choice((20, 100, 400))):
                deep = {"deep": deep}
            node["deep"] = deep
        elif kind == 12 and r.random() < 0.1 and isinstance(node, dict):
            for number in range(r.choice((50, 1200))):
                node[f"x{number}"] = {}
        elif isinstance(node, dict):
            node[r.choice(STAMPS)] = copy(r.choice(self._corpus.leaves)) if self._corpus.leaves else {}
        self.log.append(f"{path}: directory, kind {kind}")


def _at(tree: Directory, names: Iterable[str]) -> Directory | None:
    """The directory that names lead to, if it is still there."""
    for name in names:
        node = tree.get(name)
        if not isinstance(node, dict):
            return None
        tree = node
    return tree


def _edited(text: str, edits: Iterable[Edit]) -> bytes:
    """The text with all edits that do not overlap one that stands after it."""
    end = len(text) + 1
    for start, stop, new in sorted(edits, reverse=True):
        if stop <= end:
            text, end = text[:start] + new + text[stop:], start
    return text.encode("utf-8", "surrogatepass")


def _without(text: str, value: Value) -> Edit:
    """The removal of a member with one comma beside it."""
    after = _skip(text, value.end)
    if text[after : after + 1] == ",":
        return value.member, after + 1, ""
    before = len(text[: value.member].rstrip())
    return (before - 1 if text[before - 1 : before] == "," else value.member), value.end, ""
