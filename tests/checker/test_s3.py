"""A results tree in a bucket: the same report as on the directory; whatever goes wrong there is told."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trees import Tree, combined, pair

from mlpstorage.results.roots import index, s3
from submission_checker.cli import main

boto3 = pytest.importorskip("boto3")
server = pytest.importorskip("moto.server")
pytest.importorskip("s3fs")

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_MAX_ATTEMPTS": "1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class Bucket:
    """A bucket on a server of this test."""

    def __init__(self, client: Any, requests: list[str]) -> None:
        self.client = client
        self.requests = requests
        """What was asked of the server: method and path."""

    def put(self, key: str, content: bytes = b"") -> None:
        self.client.put_object(Bucket="results", Key=key, Body=content)

    def upload(self, root: Path, prefix: str = "round/") -> None:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                self.put(prefix + path.relative_to(root).as_posix(), path.read_bytes())


class _Requests(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture(scope="module")
def endpoint() -> Iterator[tuple[str, list[str]]]:
    log = logging.getLogger("werkzeug")
    requests = _Requests()
    log.addHandler(requests)
    log.setLevel(logging.INFO)
    log.propagate = False
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=True)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}", requests.lines
    running.stop()


@pytest.fixture
def bucket(endpoint: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    url, requests = endpoint
    for name, value in (ENVIRONMENT | {"AWS_ENDPOINT_URL": url}).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="results")
    yield Bucket(client, requests)
    while found := client.list_objects_v2(Bucket="results").get("Contents"):
        client.delete_objects(Bucket="results", Delete={"Objects": [{"Key": each["Key"]} for each in found]})
    client.delete_bucket(Bucket="results")


def report(place: str | Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The report without the place of the tree."""
    assert main([str(place), "--format", "json", *options]) in (0, 1)
    written = json.loads(capsys.readouterr().out)
    del written["results_dir"]
    return written  # type: ignore[no-any-return]


def refused(place: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([place]) == 2
    return capsys.readouterr().err


def spoilt(root: Path) -> Tree:
    """A tree with something to find: two systems, a missing description, a file that is no JSON, a stray directory."""
    tree = pair(root)
    tree.leaves[0].edit("metadata", {"/args/num_processes": 16})
    other = root / "closed/acme/results/slow-1/checkpointing/llama3-8b/20260701_100000"
    other.mkdir(parents=True)
    (other / "summary.json").write_text("{")
    (root / "closed/acme/notes").mkdir()
    (root / "closed/acme/notes/readme.txt").write_text("x")
    return tree


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_report_is_that_of_the_directory(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    tree = spoilt(tmp_path / "tree")
    bucket.upload(tree.root)
    expected = report(tree.root, capsys=capsys)
    assert expected["findings"]
    bucket.requests.clear()
    assert report("s3://results/round", "--jobs", jobs, capsys=capsys) == expected
    listings = [line for line in bucket.requests if "list-type" in line]
    assert len(listings) <= 1 + int(jobs)  # once in each process
    assert report("s3://results/round/", capsys=capsys) == expected


def test_a_part_can_be_named(tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    bucket.upload(tree.root)
    leaf = tree.leaves[0].path.relative_to(tree.root).as_posix()
    for part in ("closed/acme/results/fast-1", leaf):
        assert report(f"s3://results/round/{part}", capsys=capsys) == report(tree.root / part, capsys=capsys)


def test_a_lone_leaf_lists_nothing_around_it(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = combined(tmp_path / "tree")
    leaf = tree.leaves[0].path
    bucket.upload(leaf, f"runs/{leaf.name}/")
    bucket.requests.clear()
    report(f"s3://results/runs/{leaf.name}", capsys=capsys)
    listings = [line for line in bucket.requests if "list-type" in line]
    assert listings
    assert all(f"prefix=runs/{leaf.name}/" in line for line in listings)


def test_the_tree_is_listed_once_page_by_page_and_only_what_readers_ask_for_is_fetched(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = combined(tmp_path / "tree")
    (tree.leaves[0].path / "trace.bin").write_bytes(b"x")
    bucket.upload(tree.root, "")
    keys = sum(path.is_file() for path in tree.root.rglob("*"))
    monkeypatch.setattr(s3, "PAGE", 7)
    bucket.requests.clear()
    report("s3://results", capsys=capsys)
    assert len([line for line in bucket.requests if "list-type" in line]) == -(-keys // 7)
    fetched = [line for line in bucket.requests if "list-type" not in line]
    assert fetched
    assert not any("trace.bin" in line for line in fetched)


def test_a_second_check_sees_what_changed(tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    tree = combined(tmp_path / "tree")
    bucket.upload(tree.root)
    assert report("s3://results/round", capsys=capsys)["summary"]["errors"] == 0
    bucket.client.delete_object(Bucket="results", Key="round/closed/acme/systems/fast-1.yaml")
    assert report("s3://results/round", capsys=capsys)["summary"]["errors"] > 0


KEYS = {
    "round//closed/acme/x": (".", "absolute name"),
    "round/closed/../x": (".", "name with '..'"),
    "round/closed\\acme\\x": (".", "name with a backslash"),
    "round/closed/acme//x": ("closed/acme", "object whose key holds an empty name"),
    "round/closed/acme/./x": ("closed/acme", "object whose key holds an empty name"),
    "round/closed/acme/x?versionId=1": ("closed/acme", "mark of a version"),
    "round/closed/acme/systems/fast-1.yaml/x": ("closed/acme/systems", "name of both a file and a directory"),
}


def test_keys_that_lead_nowhere_are_findings(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.upload(combined(tmp_path / "tree").root)
    for key in KEYS:
        bucket.put(key, b"x")
    found = [(f["path"], f["message"]) for f in report("s3://results/round", capsys=capsys)["findings"]]
    for key, (path, text) in KEYS.items():
        assert any(text in message and (where == path or path in where) for where, message in found), key


def test_a_key_that_ends_with_a_slash_is_an_empty_directory(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = combined(tmp_path / "tree")
    (tree.root / "closed/acme/empty").mkdir()
    bucket.upload(tree.root)
    bucket.put("round/", b"")
    bucket.put("round/closed/acme/empty/", b"")
    assert report("s3://results/round", capsys=capsys) == report(tree.root, capsys=capsys)


def test_a_file_that_cannot_be_fetched_is_one_finding(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = combined(tmp_path / "tree")
    bucket.upload(tree.root)
    key = f"round/{tree.leaves[0].summary.relative_to(tree.root).as_posix()}"
    bucket.client.put_object(Bucket="results", Key=key, Body=b"{}", StorageClass="GLACIER")
    found = report("s3://results/round", capsys=capsys)["findings"]
    errors = [f for f in found if f["severity"] == "error"]
    assert len(errors) == 1
    assert "it cannot be read: " in errors[0]["message"]


def test_what_cannot_be_checked_at_all_exits_with_2_and_says_why(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put("round/notes.txt", b"x")
    assert "s3://elsewhere/round/ cannot be listed: The specified bucket does not exist" in refused(
        "s3://elsewhere/round", capsys
    )
    assert "s3://results/none: there is no object below it" in refused("s3://results/none", capsys)
    assert "s3://results/round holds no submission" in refused("s3://results/round", capsys)
    assert "give s3://BUCKET/PREFIX" in refused("s3:///round", capsys)
    assert "give s3://BUCKET/PREFIX" in refused("s3://results/../x", capsys)
    assert "of URLs only s3://BUCKET/PREFIX can be read" in refused("gs://results/round", capsys)
    monkeypatch.setattr(index, "MAX_ENTRIES", 0)
    assert "cannot be listed: it holds more than 0 files" in refused("s3://results/round", capsys)


def test_a_server_that_is_not_there_exits_with_2(
    bucket: Bucket, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    s3._filesystem.cache_clear()
    assert (
        's3://results/round/ cannot be listed: Could not connect to the endpoint URL: "http://127.0.0.1:9/'
        in refused("s3://results/round", capsys)
    )
    s3._filesystem.cache_clear()


def test_without_the_extra_exits_with_2_and_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    s3._filesystem.cache_clear()
    assert "pip install 'mlpstorage-rules[s3]'" in refused("s3://results/round", capsys)


def test_nothing_of_it_is_imported_for_a_directory(tmp_path: Path) -> None:
    tree = combined(tmp_path / "tree")
    code = (
        "import sys; from submission_checker.cli import main; main(sys.argv[1:]);"
        "sys.exit(str(sorted({'fsspec', 's3fs', 'mlpstorage.results.roots.archive'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tree.root)], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_reports_may_be_written_anywhere_on_this_machine(
    tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket.upload(combined(tmp_path / "tree").root)
    output = tmp_path / "report.json"
    assert main(["s3://results/round", "--format", "json", "--output", str(output)]) == 0
    assert json.loads(output.read_text())["results_dir"] == "s3://results/round"
    assert main(["s3://results/round", "--since", str(output)]) == 0


def test_runs_in_a_bucket_are_compared(tmp_path: Path, bucket: Bucket, capsys: pytest.CaptureFixture[str]) -> None:
    tree = pair(tmp_path / "tree")
    bucket.upload(tree.root)
    leaves = [leaf.path.relative_to(tree.root).as_posix() for leaf in tree.leaves]
    shown = []
    for place in (str(tree.root), "s3://results/round"):
        main(["compare", "--format", "json", *(f"{place}/{leaf}" for leaf in (leaves[0], leaves[0], leaves[0]))])
        shown.append(capsys.readouterr().out.replace(place, ""))
    assert shown[0] == shown[1]
    assert json.loads(shown[0])
