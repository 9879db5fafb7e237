"""A million mutated leaves through the whole check, without a traceback, a hang or growing memory.

    python benchmarks/endurance.py --cases ../shared/cases --leaves 1000000 --jobs 2 --keep-going

Each iteration is determined by --seed and its number: it takes one of the seed trees (the cases, the example tree, the
trees that tests build), changes every leaf in it, often what lies around them, and checks the tree from memory by the
path that a real one goes. `--only N` repeats an iteration and tells what was changed. docs/endurance.md says more.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import io
import json
import multiprocessing
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "checker"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import kv_cache_trees
import memory_tree
import training_trees
import trees
import vector_database_trees
from memory_tree import BASE, Directory
from mutations import STAMP, Corpus, Mutator

import rules
from mlpstorage.results import layout
from submission_checker.discovery import NothingToCheckError
from submission_checker.formats import FORMATS, Style
from submission_checker.report import CheckReport
from submission_checker.scan import Options, check

REPOSITORY = Path(__file__).resolve().parents[1]
MEMORY = 3 * 2**30
"""What a process may ask for: more is a defect, not a busy machine."""
PATIENCE = 6
"""An iteration may take so many times its limit on the clock, for it may have to wait for its turn."""
FORMATTED = 12
"""One report in so many is written in some format, for writing is checked as well."""
TWICE = 60
"""One tree in so many is checked twice: the same tree gives the same report."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A tree to change: paths of its leaves, and of the files and directories that are in no leaf, as names."""

    name: str
    tree: Directory
    leaves: tuple[tuple[str, ...], ...]
    files: tuple[tuple[str, ...], ...]
    directories: tuple[tuple[str, ...], ...]
    weight: float = 1.0
    """How often it is taken."""


def seed_of(name: str, tree: Directory, weight: float = 1.0) -> Seed:
    """A seed with its paths."""
    leaves: list[tuple[str, ...]] = []
    files: list[tuple[str, ...]] = []
    directories: list[tuple[str, ...]] = []

    def look(directory: Directory, above: tuple[str, ...]) -> None:
        for child, node in directory.items():
            path = (*above, child)
            if not isinstance(node, dict):
                files.append(path)
            elif STAMP.fullmatch(child):
                leaves.append(path)
            else:
                directories.append(path)
                look(node, path)

    look(tree, ())
    return Seed(name, tree, tuple(leaves), tuple(files), tuple(directories), weight)


def crowded(tree: Directory, wanted: int) -> Directory:
    """The tree with each leaf again on later days, until there are so many: one description serves them all."""
    result = memory_tree.copy(tree)
    leaves = seed_of("", result).leaves
    for day in range(1, max(1, wanted // len(leaves))):
        for *above, name in leaves:
            parent: Any = result
            for level in above:
                parent = parent[level]
            parent[f"{int(name[:8]) + day:08}{name[8:]}"] = _later(parent[name], name[:8], day)
    return result


def _later(leaf: Directory, date: str, day: int) -> Directory:
    later = f"{int(date) + day:08}"
    old, new = (f"{d[:4]}-{d[4:6]}-{d[6:]}".encode() for d in (date, later))
    result: Directory = {}
    for name, node in leaf.items():
        if isinstance(node, dict):
            result[name] = _later(node, date, day)
        elif isinstance(node, bytes):
            result[name.replace(date, later)] = node.replace(old, new).replace(date.encode(), later.encode())
    return result


def seeds(cases: Path | None) -> list[Seed]:
    """All trees to start from, those of the tests built anew."""
    found: dict[str, Directory] = {"examples": memory_tree.load(REPOSITORY / "examples" / "results")}
    for case in sorted(cases.glob("*/tree")) if cases else ():
        found[case.parent.name] = memory_tree.load(case)
    builders: dict[str, Callable[[Path], object]] = {
        "pair": trees.pair,
        "combined": trees.combined,
        "two-hosts": lambda root: trees.pair(root, hosts=2),
        "llama3-70b": lambda root: trees.combined(root, "llama3-70b", hosts=4, memory_gib=503.5),
        "unet3d": lambda root: _training(root, "unet3d"),
        "unet3d-manifests": lambda root: _training(root, "unet3d", manifests=True),
        "retinanet": lambda root: _training(root, "retinanet", files=1170301),
        "kv-cache": kv_cache_trees.legal,
        "kv-cache-ranks": lambda root: kv_cache_trees.legal(root, ranks=2, hosts=2),
        "vectors": vector_database_trees.complete,
        "vectors-native": vector_database_trees.native,
        "vectors-mpi": vector_database_trees.mpi,
    }
    for name, build in builders.items():
        with tempfile.TemporaryDirectory() as directory:
            build(Path(directory))
            found[name] = memory_tree.load(Path(directory))
    result = []
    for name, tree in found.items():
        # Crowded trees cost least for each leaf; those of one leaf and of none are what rules on a whole expect.
        costly = layout.KV_CACHE in str(seed_of(name, tree).leaves)
        result.append(seed_of(name, tree, 0.1 if costly else 0.2))
        if result[-1].leaves:
            result.append(seed_of(f"{name}, crowded", crowded(tree, 8 if costly else 24), 0.2 if costly else 1.0))
    return result


def _training(root: Path, model: str, files: int = 56000, *, manifests: bool = False) -> None:
    tree = training_trees.TrainingTree(root, model=model, files=files).build()
    for leaf in tree.runs:
        trees.point(root, leaf.path)
        if manifests:
            leaf.edit("metadata", {"/datagen_manifest_file": "datagen-manifest.json"})
            manifest = {"run_datetime": "20260701_090000", "model": model, "num_files_generated": files}
            (leaf.path / "datagen-manifest.json").write_text(json.dumps(manifest))


# One iteration.


@dataclass(slots=True)
class Scene:
    """What one iteration checks, with the number of its leaves and what was changed."""

    seed: str
    tree: Directory
    path: str
    edition: str
    leaves: int
    log: list[str]


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that must not be. ``place`` is the same for all that have one cause, as far as can be told."""

    number: int
    kind: str
    place: str
    text: str


class Hang(BaseException):
    """The time of an iteration is over. No Exception, so that nothing takes it for a fault of a rule."""


class _BadError(Exception):
    """A report is not what it must be: kind, place and text of the defect."""


class Fuzzer:
    """Makes and checks iterations."""

    def __init__(self, cases: Path | None, seed: int, limit: float) -> None:
        """``limit``: seconds of a processor that an iteration may take."""
        self.seeds = seeds(cases)
        self._weights = [seed.weight for seed in self.seeds]
        self._seed, self._limit = seed, limit
        self._corpus = Corpus()
        for one in self.seeds:
            self._corpus.learn(one.tree)
        self._editions = (rules.DEFAULT_EDITION,) * 8 + rules.edition_ids()

    def scene(self, number: int) -> Scene:
        """The tree of an iteration."""
        random = Random(f"{self._seed}:{number}")  # noqa: S311 - not for secrets
        (seed,) = random.choices(self.seeds, self._weights)
        tree = memory_tree.copy(seed.tree)
        log: list[str] = []
        edition = random.choice(self._editions)
        mutator = Mutator(random, self._corpus, log)
        chorus = random.randrange(2**32) if random.random() < 0.2 else None
        for *above, name in seed.leaves:
            parent: Any = tree
            for level in above:
                parent = parent[level]
            if chorus is not None:  # what is wrong in all leaves alike reaches the rules on the whole workload
                mutator.random = Random(chorus)  # noqa: S311
            if name in parent and isinstance(parent[name], dict):
                mutator.leaf(parent, name, "/".join((*above, name)), random.choice((1, 1, 1, 2, 2, 3, 4)))
        mutator.random = random
        path, leaves = BASE, len(seed.leaves)
        draw = random.random()
        if draw < 0.12 and seed.leaves:
            path, tree, leaves = self._part(random, seed, tree)
        if draw < 0.4 or draw > 0.9 or not seed.leaves:
            for _ in range(random.choice((1, 1, 2, 3)) if seed.leaves else 8):
                mutator.around(tree, seed.files, seed.directories)
        if random.random() < 0.12 and "closed" in tree and "open" not in tree:
            tree["open"] = tree.pop("closed")
            path = path.replace(f"{BASE}closed", f"{BASE}open")
        if random.random() < 0.05:
            tree[layout.SENTINEL] = b""
        return Scene(seed.name, tree, path, edition, leaves, log)

    @staticmethod
    def _part(random: Random, seed: Seed, tree: Directory) -> tuple[str, Directory, int]:
        """A leaf, a workload or a system in its tree, or one that stands alone. The path, the tree, the leaves."""
        names = random.choice(seed.leaves)
        depth = random.choice((2, 4, 5, len(names) - 1, len(names), len(names)))
        path, inside = names[:depth], sum(leaf[:depth] == names[:depth] for leaf in seed.leaves)
        if depth < len(names) - 1 or random.random() < 0.5:
            return BASE + "/".join(path), tree, inside
        lone: Any = tree
        for name in path[:-1]:
            lone = lone.get(name) if isinstance(lone, dict) else None
        alone = {path[-1]: lone[path[-1]]} if isinstance(lone, dict) and path[-1] in lone else {}
        return BASE + path[-1], alone, inside

    def attempt(self, number: int) -> tuple[int, Defect | None]:
        """One iteration: how many leaves it had, and what was wrong with the checker."""
        scene = self.scene(number)
        _set_timers(self._limit)
        try:
            with memory_tree.opened(scene.tree):
                examine(scene, number)
        except _BadError as bad:
            return scene.leaves, Defect(number, *bad.args)
        except Hang as hang:
            text = f"not done after {self._limit:g} s\n" + _trace(hang)
            return scene.leaves, Defect(number, "hang", f"hang at {place_of_error(hang)}", text)
        except Exception as error:
            return scene.leaves, Defect(number, "exception", place_of_error(error), _trace(error))
        finally:
            _set_timers(0)
        return scene.leaves, None


def examine(scene: Scene, number: int) -> CheckReport | None:
    """Check a tree, and hold the report against what any report must be."""
    options = Options(edition=scene.edition, debug=True)
    try:
        report = check(scene.path, options)
    except NothingToCheckError as error:
        _harmless("reason", str(error))
        return None
    for fault in report.faults:
        raise _BadError("fault", _place_in(fault.message), f"{fault.path}: {fault.message}")
    for finding in report.findings:
        _harmless(f"finding of {finding.rule}", finding.path, finding.message, finding.remedy, *finding.paths)
    _harmless("remark", *report.remarks, *report.unreadable)
    twice = [f for f, times in Counter(f.fingerprint for f in report.findings).items() if times > 1]
    for finding in report.findings:
        if finding.fingerprint in twice:
            raise _BadError(
                "fingerprint", f"twice: {finding.rule}", f"{finding.rule} {finding.path}: {finding.message}"
            )
    if number % FORMATTED == 0:
        name = sorted(FORMATS)[number // FORMATTED % len(FORMATS)]
        text = io.StringIO()
        FORMATS[name](report, text, Style(verbose=True))
        _harmless(f"format {name}", re.sub(r"[\r\n\t]", "", text.getvalue()))
    if number % TWICE == 0 and check(scene.path, options) != report:
        raise _BadError("difference", "two reports on one tree differ", scene.seed)
    return report


def _harmless(what: str, *texts: str) -> None:
    for text in texts:
        if not text.isprintable():
            bad = next(char for char in text if not char.isprintable())
            raise _BadError("text", f"{what}: a character that does harm", f"{bad!r} in {text[:2000]!r}")


_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_KIND = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Fault|Hang|Interrupt))\b", re.MULTILINE)


def place_of_error(error: BaseException) -> str:
    """The innermost place of the project in a traceback, and the kind of the error: one for each defect."""
    return _place_in(_trace(error))


def _place_in(text: str) -> str:
    frames = [f for f in _FRAME.findall(text) if f[0].startswith(str(REPOSITORY)) and "benchmarks" not in f[0]]
    kinds = _KIND.findall(text)
    if not frames:  # a fault of a rule has no traceback: its text without the values in it
        return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", text)[:120]
    file, line, function = frames[-1]
    return f"{os.path.relpath(file, REPOSITORY)}:{line} {function} {kinds[-1] if kinds else ''}".strip()


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


# Many of them.


@dataclass(slots=True)
class Progress:
    """What a process has done: trees, leaves, memory in MB, and by how much it grew since the end of the warm-up."""

    job: int
    trees: int = 0
    leaves: int = 0
    rss: float = 0.0
    growth: float | None = None
    peak: float = 0.0
    end: bool = False


Message = Progress | Defect


def resident() -> float:
    """Memory of this process in MB, after what is garbage has been collected."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def soak(
    fuzzer: Fuzzer, numbers: Iterator[int], leaves: int, warm: int, tell: Callable[[Message], None], job: int = 0,
    note: Callable[[int], None] = lambda number: None,
) -> None:  # fmt: skip
    """Do iterations until there were so many leaves. ``warm`` of them may fill caches before memory is compared.

    ``tell`` is given each defect, and the progress now and then; ``note`` each number before its iteration.
    """
    _notice_timers()
    progress, every = Progress(job), max(200, leaves // 100)
    first: float | None = None
    due = min(every, warm)
    for number in numbers:
        note(number)
        count, defect = fuzzer.attempt(number)
        progress.trees += 1
        progress.leaves += count
        if defect is not None:
            tell(defect)
        progress.end = progress.leaves >= leaves
        if progress.leaves >= due or progress.end:
            due = progress.leaves + every
            progress.rss = resident()
            progress.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            if first is not None:
                progress.growth = progress.rss - first
            elif progress.leaves >= warm:
                first = progress.rss
            tell(progress)
        if progress.end:
            return


def _set_timers(limit: float) -> None:
    """Seconds of processor time, for a busy machine is no defect; on the clock it may take longer. 0 ends both."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * limit)


def _notice_timers() -> None:
    signal.signal(signal.SIGPROF, _over)
    signal.signal(signal.SIGALRM, _over)


def _over(number: int, frame: FrameType | None) -> None:
    raise Hang


@dataclass(slots=True)
class Worker:
    """A process with the connection that it tells by, and when its number was last seen to change."""

    job: int
    process: Any
    connection: Connection
    before: Progress
    number: int = -1
    since: float = field(default_factory=time.monotonic)


class Crew:
    """Processes that share the numbers; one that dies or hangs where no signal reaches it is replaced."""

    def __init__(self, fuzzer: Fuzzer, arguments: argparse.Namespace) -> None:
        self._fuzzer, self._arguments = fuzzer, arguments
        self._context = multiprocessing.get_context("fork")
        self._numbers = self._context.Array("q", arguments.jobs, lock=False)
        self._share = arguments.leaves // arguments.jobs
        self.done = {job: Progress(job) for job in range(arguments.jobs)}
        self.defects: dict[str, list[Defect]] = {}

    def run(self) -> None:
        """Work to the end, or to the first defect if it is not to be kept going."""
        first = self._arguments.start
        workers = [self._start(job, first + job, Progress(job)) for job in range(self._arguments.jobs)]
        begin = shown = time.monotonic()
        try:
            while workers:
                ready = wait([worker.connection for worker in workers], timeout=1)
                for worker in [worker for worker in workers if worker.connection in ready]:
                    try:
                        self._told(worker, worker.connection.recv())
                    except EOFError:
                        workers.remove(worker)
                        worker.process.join()
                        if not self.done[worker.job].end:
                            lost = self._lost(worker, f"exit code {worker.process.exitcode}")
                            if lost is not None:
                                workers.append(lost)
                for worker in workers:
                    self._watch(worker)
                if self.defects and not self._arguments.keep_going:
                    return
                if time.monotonic() - shown > self._arguments.every:
                    shown = time.monotonic()
                    print(self.line(shown - begin), flush=True)
        finally:
            for worker in workers:
                worker.process.kill()
                worker.process.join()
            print(self.line(time.monotonic() - begin), flush=True)

    def line(self, seconds: float) -> str:
        """How far it is."""
        parts = list(self.done.values())
        leaves, trees = sum(part.leaves for part in parts), sum(part.trees for part in parts)
        memory = ", ".join(f"{p.rss:.0f}" + ("" if p.growth is None else f" ({p.growth:+.1f})") for p in parts)
        defects = sum(map(len, self.defects.values()))
        return (
            f"{seconds:7.0f} s {leaves:9,} leaves in {trees:,} trees, {leaves / max(seconds, 0.001):.0f} leaves/s; "
            f"RSS {memory} MB; {defects} defects at {len(self.defects)} places"
        )

    def _start(self, job: int, first: int, before: Progress) -> Worker:
        mine, theirs = self._context.Pipe(duplex=False)
        arguments, numbers = self._arguments, self._numbers
        numbers[job] = first

        def work() -> None:
            mine.close()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            faulthandler.register(signal.SIGUSR1, sys.__stderr__)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

            def note(number: int) -> None:
                numbers[job] = number

            series = range(first, 2**62, arguments.jobs)
            wanted = max(1, self._share - before.leaves)
            soak(self._fuzzer, iter(series), wanted, arguments.warm, theirs.send, job, note)

        process = self._context.Process(target=work, daemon=True)
        process.start()
        theirs.close()
        return Worker(job, process, mine, before)

    def _told(self, worker: Worker, message: Message) -> None:
        if isinstance(message, Defect):
            return self._note(message)
        before = worker.before
        message.leaves += before.leaves
        message.trees += before.trees
        self.done[worker.job] = message
        return None

    def _note(self, defect: Defect) -> None:
        known = self.defects.setdefault(defect.place, [])
        known.append(defect)
        if len(known) == 1:
            print(
                f"\nDEFECT {defect.kind}: {defect.place}\n{defect.text.rstrip()}\nrepeat: {self._repeat(defect)}\n",
                flush=True,
            )

    def _repeat(self, defect: Defect) -> str:
        cases = f" --cases {self._arguments.cases}" if self._arguments.cases else ""
        return f"python benchmarks/endurance.py{cases} --seed {self._arguments.seed} --only {defect.number}"

    def _watch(self, worker: Worker) -> None:
        """Kill a process whose iteration does not end although it was told to: the connection then says so."""
        number, now = self._numbers[worker.job], time.monotonic()
        if number != worker.number:
            worker.number, worker.since = number, now
        elif now - worker.since > 2 * PATIENCE * self._arguments.limit + 5 and worker.process.is_alive():
            os.kill(worker.process.pid, signal.SIGUSR1)  # it prints where it is
            time.sleep(0.5)
            worker.process.kill()

    def _lost(self, worker: Worker, how: str) -> Worker | None:
        """Note it, and go on after the iteration that it died in, if there is more to do."""
        number = self._numbers[worker.job]
        self._note(Defect(number, "lost", f"a process was lost ({how})", f"in iteration {number}"))
        before = replace(self.done[worker.job], growth=None)  # its memory went with it
        before.leaves += 1  # of an iteration that had some; so that this comes to an end
        self.done[worker.job] = before
        if before.leaves >= self._share:
            return None
        return self._start(worker.job, number + self._arguments.jobs, before)

    def verdict(self) -> list[str]:
        """What must not be, one line each; empty if all is well."""
        bad = [
            f"{len(found)} times: {place}; repeat: {self._repeat(found[0])}" for place, found in self.defects.items()
        ]
        for part in self.done.values():
            if part.growth is not None and part.growth > self._arguments.growth:
                bad.append(
                    f"process {part.job} grew by {part.growth:.1f} MB; at most {self._arguments.growth:g} are normal"
                )
        return bad


def _ended(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def show(fuzzer: Fuzzer, number: int) -> int:
    """Repeat one iteration, and say what was changed."""
    scene = fuzzer.scene(number)
    print(f"seed {scene.seed}, {scene.path}, edition {scene.edition}, {scene.leaves} leaves")
    for line in scene.log:
        print(f"  {line.encode('ascii', 'backslashreplace').decode()}")
    _notice_timers()
    start = time.perf_counter()
    _, defect = fuzzer.attempt(number)
    print(f"{1000 * (time.perf_counter() - start):.0f} ms")
    if defect is None:
        print("no defect")
        return 0
    print(f"{defect.kind}: {defect.place}\n{defect.text}")
    return 1


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, help="directory of cases to start from, too (each has a tree/)")
    parser.add_argument("--leaves", type=int, default=20_000, help="how many mutated leaves (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of all that is random (default: %(default)s)")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="number of the first iteration")
    parser.add_argument("--only", type=int, metavar="N", help="repeat this iteration and say what is in it")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the numbers (default: %(default)s)")
    parser.add_argument("--keep-going", action="store_true", help="collect defects instead of ending with the first")
    parser.add_argument(
        "--limit", type=float, default=10, help="seconds of a processor for an iteration (default: %(default)s)"
    )
    parser.add_argument(
        "--warm", type=int, default=5000, help="leaves before memory is compared (default: %(default)s)"
    )
    parser.add_argument(
        "--growth", type=float, default=24, metavar="MB", help="so much is normal (default: %(default)s)"
    )
    parser.add_argument("--every", type=float, default=15, metavar="S", help="seconds between lines of progress")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run. Gives 0 where all is well, else 1."""
    arguments = parse(argv)
    if arguments.cases and not any(arguments.cases.glob("*/tree")):
        sys.exit(f"endurance: {arguments.cases} holds no case (NAME/tree/)")
    fuzzer = Fuzzer(arguments.cases, arguments.seed, arguments.limit)
    if arguments.only is not None:
        return show(fuzzer, arguments.only)
    gc.freeze()
    signal.signal(signal.SIGTERM, _ended)  # so that no process is left behind
    crew = Crew(fuzzer, arguments)
    crew.run()
    bad = crew.verdict()
    print("\n".join(["", *bad] if bad else ["no defect"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
