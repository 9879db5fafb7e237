"""What a leaf says of the tool that made it, without a benchmark: pointer, image, stamp and manifest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from mlpstorage.checkpointing import stamp
from mlpstorage.checkpointing.dlio_main import origin
from mlpstorage.checkpointing.options import parse
from mlpstorage.checkpointing.plan import Plan
from mlpstorage.results import provenance

PUBLISHED = {"llama3-8b": "68df04b7240e3fb0", "llama3-70b": "3c53fe70d64f91d4", "llama3-405b": "7adcfa87a5c4c8e6"}
"""core-config-v1 of published CLOSED leaves."""
DLIO = {"version": "2.0.0", "source": "https://example.org/dlio", "commit": "a" * 40, "capable": True}
SECRET = "do-not-record-me"


def plan(results: Path, *arguments: str, model: str = "llama3-8b", division: str = "closed") -> Plan:
    return parse([division, "--model", model, "--results-dir", str(results), *arguments], {}).plan


def stamped(results: Path, asked: Plan, dlio: dict[str, object] = DLIO, leaf: str = "leaf") -> Path:
    place = results / leaf
    place.mkdir(parents=True)
    stamp.stamp(place, asked, "3.0", dlio, stamp.capture(asked))
    return place


def document(leaf: Path) -> dict[str, object]:
    read: dict[str, object] = json.loads((leaf / "provenance.json").read_text())
    return read


def test_pointer_stamp_and_pool_name_one_image(tmp_path: Path) -> None:
    leaf = stamped(tmp_path, plan(tmp_path))
    pointer = (leaf / ".mlps-code-image").read_text()
    assert document(leaf)["tool"]["code_image"] == pointer  # type: ignore[index]
    (image,) = (tmp_path / "code-images").glob("code-*")
    assert json.loads((image / ".code-hash.json").read_text())["hash"] == pointer.partition(":")[2]


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_reference_workloads_are_comparable_with_published_results(tmp_path: Path, model: str) -> None:
    core = document(stamped(tmp_path, plan(tmp_path, "--num-checkpoints-read", "0", model=model)))["core_config"]
    assert core["hash"] == PUBLISHED[model]  # type: ignore[index]
    assert "checkpoint.fsync" in core["keys"]  # type: ignore[index]


def test_what_dlio_tells_of_itself_is_recorded_and_unknown_is_a_text(tmp_path: Path) -> None:
    known = document(stamped(tmp_path, plan(tmp_path), leaf="a"))
    assert known["dlio"] == {key: DLIO[key] for key in ("version", "source", "commit")}
    assert known["provenance"]["dlio"] == "direct-url"  # type: ignore[index]
    unknown = document(stamped(tmp_path, plan(tmp_path), {"version": None}, leaf="b"))
    assert unknown["dlio"] == dict.fromkeys(("version", "source", "commit"), "unknown")
    assert "null" not in json.dumps(unknown)


@pytest.mark.parametrize(("environment", "name"), [({}, "s3dlio"), ({"STORAGE_LIBRARY": "minio"}, "minio")])
def test_object_runs_name_the_library_that_dlio_is_told_to_use(
    tmp_path: Path, environment: dict[str, str], name: str
) -> None:
    options = ["--results-dir", str(tmp_path), "--api", "object", "--checkpoint-folder", "s3://bucket/x"]
    asked = parse(["closed", "--model", "llama3-8b", *options], environment).plan
    assert asked.overrides()["storage.storage_options.storage_library"] == name
    stamp_of = document(stamped(tmp_path, asked))
    assert stamp_of["storage_library"] == {"name": name, "version": "unknown"}
    assert stamp_of["provenance"]["storage_library"] == "declared"  # type: ignore[index]


def test_file_runs_have_no_storage_library(tmp_path: Path) -> None:
    assert document(stamped(tmp_path, plan(tmp_path)))["storage_library"] == {"name": "none"}


@pytest.mark.parametrize(("probed", "told"), [(True, "true"), (False, "false"), (None, "unknown")])
def test_whether_fsync_takes_effect_is_stamped(tmp_path: Path, probed: bool | None, told: str) -> None:
    leaf = stamped(tmp_path, plan(tmp_path), {**DLIO, "fsync_effective": probed})
    assert document(leaf)["notes"] == f"fsync_effective: {told}"
    assert not isinstance(provenance.parse(document(leaf)), list), "the format allows it"


def test_no_secret_of_the_environment_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "MLPSTORAGE_ORGNAME"):
        monkeypatch.setenv(name, SECRET)
    leaf = stamped(tmp_path, plan(tmp_path))
    assert SECRET not in "".join(path.read_text() for path in leaf.iterdir())


def test_the_manifest_lists_the_leaf_and_whatif_has_none(tmp_path: Path) -> None:
    place = "results/fast/checkpointing/llama3-8b/20260701_100000"
    for division in ("closed", "whatif"):
        leaf = stamped(tmp_path, plan(tmp_path), leaf=f"{division}/acme/{place}")
        (leaf / "summary.json").write_text("{}")
        stamp.list_in_manifest(plan(tmp_path, division=division), "acme", "3.0")
    assert not (tmp_path / "whatif/acme/submission.yaml").exists()
    document = yaml.safe_load((tmp_path / "closed/acme/submission.yaml").read_text())
    assert [run["leaf"] for run in document["runs"]] == [place]
    assert document["dlio_commits"] == ["a" * 40]
    assert len(document["code_images"]) == 1


class Installed:
    """An installed distribution with this direct_url.json."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        return self.text


@pytest.mark.parametrize(
    ("recorded", "wanted"),
    [
        (None, {}),
        (
            {"url": f"https://user:{SECRET}@example.org/dlio", "vcs_info": {"vcs": "git", "commit_id": "b" * 40}},
            {"source": "https://example.org/dlio", "commit": "b" * 40},
        ),
        ({"url": "file:///home/someone/dlio", "dir_info": {}}, {"source": "local directory", "commit": None}),
    ],
)
def test_where_dlio_came_from_is_told_without_passwords_and_places(
    monkeypatch: pytest.MonkeyPatch, recorded: object, wanted: dict[str, object]
) -> None:
    text = None if recorded is None else json.dumps(recorded)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(text))
    assert origin() == wanted
