"""Starts DLIO's benchmark so that ``checkpoint.fsync`` takes effect; also tells what the installed DLIO can do.

Runs under DLIO's own interpreter, as a file: it must import nothing of this project.

Why it exists: DLIO reads ``checkpoint.fsync`` from its configuration into the attribute ``checkpoint_sync``, while its
checkpoint writers look at ``checkpoint_fsync``, which stays False. A workload that states ``fsync: true`` then writes
without a single fsync. :func:`make_fsync_real` hands the configured value to the attribute that the writers use.

Usage: ``dlio_main.py <hydra arguments>`` runs the benchmark; ``dlio_main.py --probe`` prints one line of JSON.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import sys
import tempfile
from typing import Any

PROBE_MARK = "MLPSTORAGE-DLIO-PROBE "
LLM_OPTIONS = ("num_checkpoints_write", "num_checkpoints_read", "zero_stage", "num_kv_heads", "data_parallelism")
"""Options that only a DLIO with the LLM checkpoint workload has."""


def make_fsync_real(main: Any, config: Any) -> None:
    """Let the configured fsync reach the writers of this process' DLIO. Harmless where DLIO does it by itself."""
    load = main.LoadConfig

    def load_and_carry_over(args: Any, cfg: Any) -> None:
        load(args, cfg)
        # The text form as well: an override may have been quoted.
        if "checkpoint" in cfg and "fsync" in cfg["checkpoint"]:
            args.checkpoint_fsync = cfg["checkpoint"]["fsync"] in (True, "true", "True")

    main.LoadConfig = load_and_carry_over
    config.LoadConfig = load_and_carry_over


def start() -> None:
    """Run the benchmark as DLIO's own start script does."""
    main = importlib.import_module("dlio_benchmark.main")
    make_fsync_real(main, importlib.import_module("dlio_benchmark.utils.config"))
    main.main()


def probe() -> None:
    """What the DLIO of this interpreter can do, found by using it and not by its version number.

    Keys: ``capable`` (it has the LLM checkpoint workload), ``fsync_effective`` (true, false or null),
    ``storage_types``, ``version``, ``source`` and ``commit`` (null where not recorded), ``problem`` (why it is not
    capable).
    """
    answer: dict[str, Any] = {"capable": False, "fsync_effective": None, "storage_types": [], "problem": ""}
    answer.update(version=None, source=None, commit=None)
    try:
        answer["version"] = importlib.metadata.version("dlio_benchmark")
        answer.update(origin())
    except Exception as error:
        answer["problem"] = f"DLIO is not installed: {error}"
    try:
        importlib.import_module("torch")
        main = importlib.import_module("dlio_benchmark.main")
        config = importlib.import_module("dlio_benchmark.utils.config")
        kinds = importlib.import_module("dlio_benchmark.common.enumerations")
        mpi = importlib.import_module("dlio_benchmark.utils.utility").DLIOMPI.get_instance()
        mpi.set_parent_values(0, 1)  # as in a worker process: reading options needs no MPI job
        missing = [name for name in LLM_OPTIONS if not hasattr(config.ConfigArguments, name)]
        if missing or not hasattr(kinds.CheckpointModeType, "SUBSET"):
            answer["problem"] = "this DLIO lacks the LLM checkpoint workload: " + ", ".join(missing or ["subset mode"])
        else:
            answer["capable"] = True
            answer["problem"] = ""
        answer["storage_types"] = sorted(str(item.value) for item in kinds.StorageType)
        if answer["capable"]:
            make_fsync_real(main, config)
            answer["fsync_effective"] = fsync_effective(main, config)
    except Exception as error:
        answer["problem"] = f"DLIO cannot be used: {type(error).__name__}: {error}"
    print(PROBE_MARK + json.dumps(answer))


def origin() -> dict[str, Any]:
    """Where the installed DLIO came from, as its installer recorded: address (without user and password) and commit."""
    recorded = importlib.metadata.distribution("dlio_benchmark").read_text("direct_url.json")
    if recorded is None:
        return {}
    direct = json.loads(recorded)
    address = re.sub(r"://[^/@]*@", "://", str(direct.get("url") or ""))
    if address.startswith("file:"):
        address = "local directory"  # where it lay on that machine says nothing to others
    return {"source": address or None, "commit": direct.get("vcs_info", {}).get("commit_id")}


def fsync_effective(main: Any, config: Any) -> bool | None:
    """Write one tiny state with ``fsync: true`` configured, the way a checkpoint is written, and count the fsync calls.

    None where DLIO's writer cannot be exercised this way.
    """
    torch = importlib.import_module("torch")
    writers = importlib.import_module("dlio_benchmark.checkpointing.pytorch_checkpointing")
    args = config.ConfigArguments.get_instance()
    main.LoadConfig(args, {"framework": "pytorch", "checkpoint": {"fsync": True}, "output": {"folder": "."}})
    calls: list[int] = []
    real = os.fsync

    def counting(descriptor: int) -> None:
        calls.append(descriptor)
        real(descriptor)

    writer: Any = object.__new__(writers.PyTorchCheckpointing)
    writer.args = args
    writer.ext = "pt"
    writer.layer_state = writer.optimization_state = None
    writer.model_state = {"a": torch.zeros(8)}
    writer.rank_to_checkpoint = 0
    writer.get_layer_index = lambda: (0, 0)
    with tempfile.TemporaryDirectory() as folder:
        args.checkpoint_folder = folder
        os.mkdir(os.path.join(folder, "global_epoch1_step1"))
        writer.checkpoint_storage = _NoStorage()
        os.fsync = counting  # type: ignore[assignment]
        try:
            writer.save_checkpoint(1, 1)
        except Exception as error:
            print(f"the fsync probe could not write: {type(error).__name__}: {error}", file=sys.stderr)
            return None
        finally:
            os.fsync = real
    return len(calls) > 0


class _NoStorage:
    """Stands in for DLIO's storage, whose only part in a local write is to make the directory."""

    def create_node(self, name: str, exist_ok: bool = False) -> None:
        """Nothing: the probe has made the directory."""


if __name__ == "__main__":
    # The directory of this file must not lend its module names to DLIO's imports.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    if sys.argv[1:] == ["--probe"]:
        probe()
    else:
        start()
