"""One training run leaf as facts."""

from __future__ import annotations

from functools import cache
from typing import Any

from mlpstorage.results import dlio
from mlpstorage.results.convert import InvalidValueError, as_float
from mlpstorage.results.document import Found, Reading, first_of
from mlpstorage.results.text import clean, clean_all
from rules.derived import training as derived
from rules.derived.checkpointing import flatten
from rules.derived.locations import normal_path
from rules.facts import Absence, FactSheet, Reason, Source
from rules.facts.training import StatedOverride
from rules.remembered import remembered

from .code_pointer import hash_of
from .collected import ratio
from .common import NOT_STATED, as_api, leaf_files, mapped, put, put_location, recorded_verdict, stated_path
from .division import division_of, recorded_division
from .run_environment import put_environment
from .separation import separation, sidecar_problem
from .training_files import MAX_KEYS, STDOUT_LOG, TrainingDocuments

_CHOICE = "workload"
"""Not a key of the workload: the template that all keys override."""
LEFT_TO_DEEP = "3.3.2 (e), utilisation recomputed from every rank's *_output.json, is left to --deep"
_OF_RANKS = (
    "ranks_recomputed", "rank_difference", "rank_computation", "rank_mean_difference", "rank_mean_computation",
    "rank_steps_due", "rank_fewest_steps", "rank_most_steps", "rank_steps", "rank_last_epoch",
)  # fmt: skip
_LARGEST = 2**63 - 1


class RunReader:
    """States each fact of one run leaf that its own files tell; those that hang on the workload come later."""

    def __init__(self, files: TrainingDocuments, described_api: Found[str], *, deep: bool = False) -> None:
        self.files = files
        self._deep = deep
        self.metadata, self.summary = files.metadata, files.summary
        self.path = files.path
        self.described_api = described_api
        self.sheet = FactSheet()

    def read(self) -> FactSheet:
        """All facts of the leaf itself."""
        self._identity()
        self._placement()
        self._dataset()
        self._manifest()
        self._memory()
        self._sizing()
        self._utilisation()
        self._storage()
        self._parameters()
        self._put("image", self.files.image)
        validated = mapped(self.metadata.text("/args/_validated_pool_hash"), hash_of)
        if isinstance(validated, Absence) and validated.reason is Reason.KEY_ABSENT:
            validated = self._not_recorded("validated_image", "the tool that wrote the leaf records no validated image")
        self._put("validated_image", validated)
        files = leaf_files(self.files.all(), self.path)
        self.sheet.put("files", files, Source(self.path))
        return self.sheet

    def _put(self, name: str, found: Found[Any]) -> None:
        put(self.sheet, name, found)

    def _value(self, name: str) -> Any:
        return self.sheet.get(name)

    def _not_recorded(self, name: str, detail: str) -> Absence:
        """One cause for the whole system: no act on a single leaf would cure it."""
        cause = f"not-recorded:{clean(self.files.leaf.system_path)}:{name}"
        return Absence(cause, Reason.NOT_RECORDED, self.metadata.path, "", detail)

    def _identity(self) -> None:
        self.sheet.put("name", clean(self.files.leaf.name), Source(self.path))
        self._put("division", division_of(self.files.leaf, self.metadata))
        self._put("directory_model", directory_model(self.files))
        self._put("recorded_division", recorded_division(self.metadata))
        self._put("recorded_verdict", recorded_verdict(self.metadata))
        self._put("invalid_allowed", self._flag("allow_invalid_params"))
        chosen = dlio.workload_choice(self.files.override_words) or ""
        model, accelerator = model_of(self.files), accelerator_of(self.files)
        pair = [pair for pair in known_pairs() if derived.template_name(*pair) == chosen]
        if not self.metadata.ok and pair:  # what DLIO was told to run
            model, accelerator = (Reading(name, self.files.overrides.source()) for name in pair[0])
        self._put("model", model)
        self._put("accelerator", accelerator)
        self._put("template", template_of(model, accelerator))

    def _flag(self, name: str) -> Found[bool]:
        """A switch of the command line that older tools do not have."""
        found = self.metadata.bool(f"/args/{name}")
        if isinstance(found, Absence) and found.reason is Reason.KEY_ABSENT:
            return self._not_recorded(name, f"the tool that wrote the leaf records no {name}")
        return found

    def _placement(self) -> None:
        asked = self.metadata.int("/args/num_accelerators", "/num_processes")
        self._put("num_processes", asked)
        self._put("num_accelerators", _at_least_one(self.summary.int("/num_accelerators")))
        self._put("num_hosts", _at_least_one(self.summary.int("/num_hosts")))
        self._put("named_hosts", self.files.named_hosts)
        slots = self.files.host_slots()
        source = self.metadata.source("/executed_command")
        absent = self._not_recorded("executed_command", "the executed command names no hosts")
        self._put("commanded_hosts", absent if slots is None else Reading(len(slots), source))
        names = ("least_ranks_on_host", "most_ranks_on_host", "placed_ranks")
        counts = [count for _, count in slots or ()]
        if counts and all(count is not None for count in counts):
            known = [count for count in counts if count is not None]
            values = (min(known), max(known), sum(known))
            for name, value in zip(names, values, strict=True):
                self.sheet.put(name, min(value, _LARGEST), source)
            return
        # Without slots the ranks are spread as evenly as their number lets.
        ranks, hosts = self._value("num_accelerators"), self._value("num_hosts")
        if isinstance(ranks, Absence) or isinstance(hosts, Absence):
            for name in names:
                self.sheet.put(name, ranks if isinstance(ranks, Absence) else hosts)
            return
        for name, value in zip(names, (ranks // hosts, -(-ranks // hosts), ranks), strict=True):
            self.sheet.put(name, value, self.summary.source("/num_accelerators"))

    def _dataset(self) -> None:
        self._put("num_files", self.summary.int("/num_files_train"))
        self._put("configured_files", self.files.parameter_int("dataset.num_files_train"))
        recorded = self.metadata.int("/parameters/dataset/num_files_train")
        if isinstance(recorded, Absence) and recorded.reason is Reason.KEY_ABSENT:
            recorded = self._not_recorded("parameters", "the metadata does not state the number of files")
        self._put("recorded_files", recorded)
        self._put("num_files_eval", self.summary.int("/num_files_eval"))
        self._put("subfolders", self.files.subfolders())
        samples = self.files.positive_int("dataset.num_samples_per_file")
        self._put("samples_per_file", first_of(samples, _at_least_one(self.summary.int("/num_samples_per_file"))))
        self._put("record_length", self.files.record_length())
        self._put("batch_size", self.files.positive_int("reader.batch_size"))
        self._put("configured_epochs", self.files.positive_int("train.epochs"))
        self._put("epochs", self.summary.int("/epochs"))

    def _manifest(self) -> None:
        """3.3.1: the manifest of the generated files, for a run whose metadata names one or says that there is none."""
        named, manifest = self.files.manifest_name, self.files.manifest
        if isinstance(named, Absence) and named.reason is Reason.KEY_ABSENT:
            named = self._not_recorded("manifest", "the tool that wrote the leaf names no manifest")
        self._put("manifest_file", named)
        if manifest is None:
            absent = named
            if isinstance(named, Reading):
                detail = "the run has no manifest"
                absent = Absence(f"no-manifest:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
            for name in ("manifest_found", "manifest_files", "manifest_datagen"):
                self._put(name, absent)
        else:
            self.sheet.put("manifest_found", manifest.state != "missing", Source(self.path))
            counted = manifest.int("/num_files_generated", "/num_files_train")
            self._put("manifest_files", counted)
            made_by = manifest.text("/run_datetime", "/datagen")
            self._put("manifest_datagen", mapped(made_by, _last_part))
        passed = self.files.parameter_int("dataset.num_files_generated")
        if manifest is None or (isinstance(passed, Absence) and passed.reason is Reason.KEY_ABSENT):
            passed = self._not_recorded("num_files_generated", "the tool passed on no count of a manifest")
        self._put("manifest_passed", passed)

    def _memory(self) -> None:
        """3.1.2: the measured memory of all clients, the larger of two measurements. What was declared is none."""
        summed = self.summary.read("/host_memory_GB", _sum_of_memory)
        collected = _at_least_one(self.metadata.int("/system_info/total_memory_bytes"))
        seen = self.metadata.int("/system_info/num_hosts")
        hosts = self._value("num_hosts")
        if isinstance(collected, Absence) and collected.reason is Reason.KEY_ABSENT:
            collected = self._not_recorded("system_info", "the tool collected no host facts")
        elif isinstance(seen, Reading) and not isinstance(hosts, Absence) and seen.value != hosts:
            collected = self._not_recorded("system_info", f"host facts of {seen.value} of {hosts} hosts are there")
        self._put("summary_memory_bytes", summed)
        self._put("collected_memory_bytes", collected)
        self._put("declared_memory_bytes", self._declared())
        measured = [found for found in (summed, collected) if isinstance(found, Reading)]
        self._put("memory_bytes", max(measured, key=lambda reading: reading.value) if measured else summed)
        self._put("memory_ratio", ratio(self.metadata, 0))

    def _declared(self) -> Found[int]:
        memory = self.metadata.float("/args/client_host_memory_in_gb")
        hosts = first_of(self.metadata.int("/args/num_client_hosts"), self.files.named_hosts)
        if isinstance(memory, Absence) or isinstance(hosts, Absence):
            return memory if isinstance(memory, Absence) else hosts
        total = int(derived.declared_memory(memory.value, hosts.value))
        if not 0 < total <= _LARGEST:
            return self.metadata.invalid("/args/client_host_memory_in_gb", f"{memory.value} is not a memory size")
        return Reading(total, memory.source)

    def _sizing(self) -> None:
        needed = ("num_accelerators", "batch_size", "samples_per_file", "record_length", "memory_bytes")
        values = [self._value(name) for name in needed]
        for name, value in derived.sizing_facts(*values).items():
            self.sheet.put(name, value, Source(self.path))

    def _utilisation(self) -> None:
        """3.3.2: the summary's figures, and the same recomputed from what they come from."""
        self._put("au_mean", self.summary.float("/metric/train_au_mean_percentage"))
        self._put("au_verdict", self.summary.read("/metric/train_au_meet_expectation", _verdict))
        target = mapped(self.files.parameter_float("metric.au"), lambda value: float(100 * derived.exact(value)))
        if isinstance(target, Absence) and target.reason is Reason.KEY_ABSENT:
            target = self._not_recorded("metric.au", "the configuration states no target")
        self._put("au_target", target)
        listed = self.summary.read("/metric/train_au_percentage", _floats)
        self._put("au_listed", mapped(listed, len))
        self._ranks(listed)
        if isinstance(listed, Reading) and not listed.value:
            absent = self.summary.invalid("/metric/train_au_percentage", "the list is empty")
            for name in ("au_recomputed", "au_worst", "au_worst_epoch"):
                self.sheet.put(name, absent)
        else:
            self._put("au_recomputed", mapped(listed, lambda values: float(derived.mean(values))))
            self._put("au_worst", mapped(listed, min))
            self._put("au_worst_epoch", mapped(listed, lambda values: values.index(min(values)) + 1))
        names = ("au_from_throughput", "au_least_excess", "au_most_excess")
        found = self._from_throughput(listed)
        if isinstance(found, Absence):
            for name in names:
                self.sheet.put(name, found)
            return
        for name, value in zip(names, found.value, strict=True):
            self.sheet.put(name, value, found.source)

    def _ranks(self, listed: Found[list[float]]) -> None:
        """3.3.2 (e): what every rank recorded of its steps."""
        self.sheet.put("ranks_read", self._deep, Source(self.path))
        if self._deep:
            from .training_ranks import put_ranks  # here, for the default check does without it

            put_ranks(self.sheet, self.files, listed)
            return
        detail = "what every rank recorded is read with --deep only"
        absent = Absence(f"depth:{self.path}", Reason.NOT_APPLICABLE, self.path, detail=detail)
        for name in _OF_RANKS:
            self.sheet.put(name, absent)

    def _from_throughput(self, listed: Found[list[float]]) -> Found[tuple[float, float, float]]:
        """Recomputed utilisation: mean, and least and most by which the stated ones exceed it."""
        pointer = "/metric/train_throughput_samples_per_second"
        rates = self.summary.read(pointer, _floats)
        time = self.files.parameter_float("train.computation_time")
        ranks, batch = self._value("num_accelerators"), self._value("batch_size")
        if isinstance(listed, Absence):
            return listed
        if isinstance(rates, Absence):
            return rates
        if isinstance(time, Absence):
            return time
        if isinstance(ranks, Absence) or isinstance(batch, Absence):
            return ranks if isinstance(ranks, Absence) else batch
        if not rates.value or len(rates.value) != len(listed.value):
            detail = f"{len(rates.value)} throughputs for {len(listed.value)} utilisations"
            return self.summary.invalid(pointer, detail)
        found = derived.utilisation_of_rates(listed.value, rates.value, time.value, ranks, batch)
        return Reading(found, rates.source)

    def _storage(self) -> None:
        """3.4.1, 3.4.2: the two directories, and recorded evidence that they lie on different filesystems."""
        self._put("api", api_of(self.files, self.described_api))
        put_environment(self.sheet, self.files)
        put_location(self.sheet, "data_dir", "data_problem", stated_path(self.metadata, "/args/data_dir"))
        self._put("results_dir", mapped(stated_path(self.metadata, "/args/results_dir"), normal_path))
        self._put("gate_skipped", self._flag("skip_fs_separation_gate"))
        self.sheet.put("data_shared", self._not_recorded("data_shared", "the probe's result is not recorded"))
        self._evidence()

    def _evidence(self) -> None:
        data, results, api = (self._value(name) for name in ("data_dir", "results_dir", "api"))
        own = {"data_or_chkpt_path": ("data_dir", data), "results_path": ("results_dir", results)}
        problem = sidecar_problem(self.files.fs_separation, self.files.leaf.name, api, own, whole=True)
        self._put("sidecar_problem", problem)
        detail = "neither fs_separation.json nor a df table tells"
        nothing = Absence(f"no-evidence:{self.path}", Reason.NOT_RECORDED, self.path, "", detail)
        same, evidence = separation(self.files, STDOUT_LOG, api, (data, results), nothing)
        self._put("same_filesystem", same)
        self._put("filesystem_evidence", evidence)

    def _parameters(self) -> None:
        model, accelerator = self._value("model"), self._value("accelerator")
        overrides = self.files.overrides_found(model, accelerator)
        self._put("overrides", overrides)
        document, at = self.files.effective
        tree = document.mapping(at)
        if isinstance(overrides, Absence):
            self.sheet.put("template_values", overrides)
        elif isinstance(model, Absence) or isinstance(accelerator, Absence):
            self.sheet.put("template_values", model if isinstance(model, Absence) else accelerator)
        elif isinstance(tree, Absence):
            self.sheet.put("template_values", tree)
        else:
            flat = clean_all(flatten(tree.value))
            overridden = [item.name for item in overrides.value]
            self._put(
                "template_values", Reading(derived.compare_template(model, accelerator, flat, overridden), tree.source)
            )
        self._put("stated_overrides", stated_overrides(self.files, self._value("template")))


def stated_overrides(files: TrainingDocuments, template: str | Absence) -> Found[list[StatedOverride]]:
    """Overrides as metadata and overrides.yaml state them; ``template`` is the one that the metadata names."""
    recorded = files.recorded_overrides
    if isinstance(recorded, Absence):
        return recorded
    if not files.overrides.ok:
        return files.overrides.absence()
    told, passed = dict(recorded.value), dict(files.passed_overrides)
    chosen = dlio.workload_choice(files.override_words)
    if chosen is not None and not isinstance(template, Absence):
        told[_CHOICE], passed[_CHOICE] = template, clean(chosen)
    names = sorted({*told, *passed})[:MAX_KEYS]
    stated = [_stated(name, told.get(name, NOT_STATED), passed.get(name, NOT_STATED)) for name in names]
    return Reading(stated, files.overrides.source())


@remembered(1024)
def _stated(name: str, metadata: str, overrides: str) -> StatedOverride:
    """The same record for all the leaves of a workload, which agree in nearly all keys."""
    return StatedOverride(name=name, metadata=metadata, overrides=overrides)


@cache
def known_pairs() -> list[tuple[str, str]]:
    """Model and accelerator of every workload template."""
    return [
        (model, accelerator)
        for model in derived.model_names()
        for accelerator in derived.accelerator_names()
        if derived.template(model, accelerator)
    ]


def directory_model(files: TrainingDocuments) -> Found[str]:
    """The name of the workload directory that holds the leaf."""
    if files.leaf.workload:
        return Reading(clean(files.leaf.workload), Source(files.path))
    detail = "the leaf lies in no workload directory"
    return Absence(f"alone:{files.path}", Reason.NOT_APPLICABLE, files.path, detail=detail)


def model_of(files: TrainingDocuments) -> Found[str]:
    """The model that the metadata names."""
    return files.metadata.text("/args/model", "/model")


def accelerator_of(files: TrainingDocuments) -> Found[str]:
    """The accelerator type that the metadata names, lower case."""
    found = files.metadata.text("/args/accelerator_type", "/accelerator")
    return mapped(found, str.lower)


def template_of(model: Found[str], accelerator: Found[str]) -> Found[str]:
    """Model and accelerator in one name."""
    if isinstance(model, Absence):
        return model
    return mapped(accelerator, lambda name: derived.template_name(model.value, name))


def _at_least_one(found: Found[int]) -> Found[int]:
    if isinstance(found, Reading) and found.value < 1:
        cause = f"value:{found.source}"
        return Absence(cause, Reason.INVALID, found.source.path, found.source.pointer, f"{found.value} is not positive")
    return found


def _floats(value: Any) -> list[float]:
    if not isinstance(value, list):
        raise InvalidValueError("a list of numbers")
    return [as_float(item) for item in value]


def _sum_of_memory(value: Any) -> int:
    """Entries stand at the wrong hosts when several ranks share one; only their sum is right."""
    entries = _floats(value)
    total = derived.memory_of_entries(entries)
    if min(entries, default=0) < 0 or not 0 < total <= _LARGEST:
        raise InvalidValueError("the memory of at least one host")
    return total


def api_of(files: TrainingDocuments, described_api: Found[str]) -> Found[str]:
    """Access protocol of a leaf of any phase: of its arguments, its system's description, or its configuration."""
    api = first_of(files.metadata.read("/args/data_access_protocol", as_api), described_api)
    if isinstance(api, Absence) and api.reason is not Reason.INVALID:
        document, at = files.effective
        kind = document.text(f"{at}/storage/storage_type")
        if isinstance(kind, Reading):
            return kind.map(lambda word: "object" if word.lower().startswith("s3") else "file")
        if document.ok:  # DLIO's own default is a local file system
            return Reading("file", document.source(at))
    return api


def _last_part(path: str) -> str:
    """The last part of a path: a leaf's name, also where it stands by itself."""
    return path.rstrip("/").rpartition("/")[2]


def _verdict(value: Any) -> str:
    if value not in ("success", "fail"):
        raise InvalidValueError("success or fail")
    return str(value)
