"""Facts of code images and of what a submission says of its own making (sections 2.1.6, CHECK, PROV, EDN, RPT)."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from .base import Fact, FactModel, Int, Known, Record, fact

Division = Literal["closed", "open"]
RecordState = Literal["ok", "missing", "empty", "damaged", "refused", "placeholder"]
Repair = Literal["not_tried", "equal", "differs", "no_commit"]
PointerState = Literal["ok", "missing", "malformed", "placeholder", "unreadable"]


class Unpooled(Record):
    """An organisation whose leaves point to images, and that has no pool to hold them."""

    path: str = fact("Its directory below its first division.", known=Known.RUN)
    name: str = fact("The organisation.", known=Known.RUN)
    leaves: int = fact("Its leaves.", known=Known.RUN)
    elsewhere: str = fact("Pools that hold images that its leaves name; empty where none does.", known=Known.RUN)


class CodeTree(FactModel):
    """The results tree as the home of code images."""

    subject: ClassVar[str] = "code_tree"
    namespace: ClassVar[str] = "tree"
    plural: ClassVar[str] = "trees"

    layout: Fact[Int] = fact(
        "3: a marked code-images/; 2: a marked organisation pool; 1: code/ directories; 0: no image of any kind.",
        known=Known.RUN,
    )
    live: Fact[bool] = fact("It is a results directory that is still worked with, not a package.", known=Known.RUN)
    leaves: Fact[Int] = fact("Run leaves of all families, without stubs.", known=Known.RUN, unit="leaves")
    pointers: Fact[Int] = fact("Leaves that have a pointer file.", known=Known.RUN)
    pools: Fact[Int] = fact("Directories that are pools, or hold images as pools do.", known=Known.RUN, unit="pools")
    images: Fact[Int] = fact("Images in them that were hashed.", known=Known.RUN, unit="images")
    images_failing: Fact[Int] = fact("Those whose hash is not the recorded one.", known=Known.RUN, unit="images")
    images_whole: Fact[Int] = fact(
        "Images that hold a file of the upstream repository that is stripped when a tree is published.",
        known=Known.RUN,
        unit="images",
    )
    source_repository: Fact[bool] = fact("A repository to compare images with was given.", known=Known.RUN)
    unpooled: Fact[list[Unpooled]] = fact("Organisations with leaves and without any pool.", known=Known.RUN)


class _Recorded(BaseModel):
    """What a ``.code-hash.json`` says of the directory that it lies in, and what the directory really holds."""

    model_config = ConfigDict(defer_build=True)  # it is a part of models, and no model by itself

    record_path: Fact[str] = fact("Path of the .code-hash.json.", known=Known.RUN)
    record_state: Fact[RecordState] = fact("Whether that file can be read.", known=Known.RUN)
    record_detail: Fact[str] = fact("What keeps it from being read; empty where nothing does.", known=Known.RUN)
    record_problems: Fact[list[str]] = fact(
        "Keys beside hash and algorithm that are not as they should be.", known=Known.RUN
    )
    hash: Fact[str] = fact("Recorded hash.", known=Known.RUN)
    algorithm: Fact[str] = fact("Recorded algorithm.", known=Known.RUN)
    unhashable: Fact[list[str]] = fact("What keeps the directory from being hashed.", known=Known.RUN)
    recomputed: Fact[str] = fact("Hash of what the directory holds now.", known=Known.RUN)
    num_files: Fact[Int] = fact("Files that the hash goes over.", known=Known.RUN, unit="files")
    difference: Fact[str] = fact(
        "Files added, missing or changed, and compared with what; or why that cannot be told.", known=Known.RUN
    )
    repair: Fact[Repair] = fact(
        "Whether the recorded hash comes out once the files that the recorded commit tracks and the directory lacks "
        "are added. no_commit: the repository does not have the commit.",
        known=Known.RUN,
    )


class CodePool(FactModel):
    """A directory that holds, or should hold, images."""

    subject: ClassVar[str] = "code_pool"
    namespace: ClassVar[str] = "pool"
    parent: ClassVar[str] = "code_tree"
    plural: ClassVar[str] = "pools"

    directory: Fact[str] = fact("Its path.", known=Known.RUN)
    marked: Fact[bool] = fact("It has the marker .mlps-image-pool.", known=Known.RUN)
    num_images: Fact[Int] = fact("Image directories (code-*) in it.", known=Known.RUN, unit="images")


class CodeImage(_Recorded, FactModel):
    """One image of a pool."""

    subject: ClassVar[str] = "code_image"
    namespace: ClassVar[str] = "image"
    parent: ClassVar[str] = "code_pool"
    plural: ClassVar[str] = "images"

    name: Fact[str] = fact("Directory name.", known=Known.RUN)
    digits: Fact[str] = fact("The name after 'code-'.", known=Known.RUN)
    referenced: Fact[bool] = fact("A leaf that the pool serves points to it.", known=Known.RUN)


class CodeDirectory(_Recorded, FactModel):
    """A ``code/`` directory of layout 1: one that is there, or one that layout 1 wants."""

    subject: ClassVar[str] = "code_directory"
    namespace: ClassVar[str] = "code_directory"
    parent: ClassVar[str] = "code_tree"
    plural: ClassVar[str] = "directories"

    directory: Fact[str] = fact("Its path.", known=Known.RUN)
    exists: Fact[bool] = fact("It is there.", known=Known.RUN)
    wanted: Fact[bool] = fact("Layout 1 has one in this place.", known=Known.RUN)
    pooled: Fact[str] = fact(
        "The marked pool that serves its organisation; empty where there is none.", known=Known.RUN
    )


class CodeSubmission(FactModel):
    """What one organisation submits in one division: its leaves, its manifest, its roll-up table."""

    subject: ClassVar[str] = "code_submission"
    namespace: ClassVar[str] = "submission"
    parent: ClassVar[str] = "code_tree"
    plural: ClassVar[str] = "submissions"

    division: Fact[Division] = fact("Division directory.", known=Known.RUN)
    organisation: Fact[str] = fact("Organisation directory.", known=Known.RUN)
    pools: Fact[list[str]] = fact("Pools that its leaves may find their images in.", known=Known.RUN)
    manifest_path: Fact[str] = fact("Path of submission.yaml.", known=Known.RUN)
    manifest_exists: Fact[bool] = fact("There is a submission.yaml.", known=Known.RUN)
    manifest_problems: Fact[list[str]] = fact("What is wrong with the form of submission.yaml.", known=Known.RUN)
    manifest_edition: Fact[str] = fact("Edition that submission.yaml names.", known=Known.RUN)
    manifest_missing: Fact[list[str]] = fact("Leaves that submission.yaml does not list.", known=Known.RUN)
    manifest_stale: Fact[list[str]] = fact("Leaves that submission.yaml lists and that are not there.", known=Known.RUN)
    manifest_other_edition: Fact[list[str]] = fact(
        "Stamped leaves whose stamp names another edition than submission.yaml.", known=Known.RUN
    )
    rollup_path: Fact[str] = fact("Path of the organisation's roll-up table.", known=Known.RUN)
    rollup_exists: Fact[bool] = fact("There is a roll-up table (results/results.json).", known=Known.RUN)
    rollup_missing: Fact[list[str]] = fact(
        "Public IDs of tables at workloads that the roll-up table lacks.", known=Known.RUN
    )
    rollup_orphaned: Fact[list[str]] = fact("Public IDs of the roll-up table alone.", known=Known.RUN)


class CodeLeaf(FactModel):
    """A run leaf of any family, as far as it says by which code it was made."""

    subject: ClassVar[str] = "code_leaf"
    namespace: ClassVar[str] = "code_leaf"
    parent: ClassVar[str] = "code_submission"
    plural: ClassVar[str] = "leaves"

    family: Fact[str] = fact("Family directory, e.g. training.", known=Known.RUN)
    command: Fact[str] = fact("What was run: run, datagen, datasize.", known=Known.RUN)
    pointer_state: Fact[PointerState] = fact("Whether .mlps-code-image is there and names an image.", known=Known.RUN)
    pointer_text: Fact[str] = fact("Its text, short.", known=Known.RUN)
    pointer: Fact[str] = fact("The hash that it names.", known=Known.RUN)
    first_alike: Fact[str] = fact(
        "First leaf of the submission with the same pointer, or the same lack of one.", known=Known.RUN
    )
    image: Fact[str] = fact("Name of the directory that the pointer leads to.", known=Known.RUN)
    image_path: Fact[str] = fact(
        "Path of the image that the pointer leads to; empty where no pool has it.", known=Known.RUN
    )
    image_recorded: Fact[bool] = fact("This image's record states a hash.", known=Known.RUN)
    image_hash: Fact[str] = fact("Hash that this image's record states.", known=Known.RUN)
    elsewhere: Fact[list[str]] = fact("Pools of others that hold the image.", known=Known.RUN)
    pooled_images: Fact[list[str]] = fact("Images in the pools that were searched.", known=Known.RUN)
    stamp_path: Fact[str] = fact("Path of provenance.json.", known=Known.RUN)
    stamp_declared: Fact[bool] = fact("The metadata can be read and names a provenance file.", known=Known.RUN)
    stamp_exists: Fact[bool] = fact("There is a provenance.json.", known=Known.RUN)
    stamp_problems: Fact[list[str]] = fact("What is wrong with the form of provenance.json.", known=Known.RUN)
    stamp_image: Fact[str] = fact("tool.code_image of the stamp.", known=Known.RUN)
    stamp_edition: Fact[str] = fact("Edition that the stamp names.", known=Known.RUN)
    stamp_dlio_commit: Fact[str] = fact("Commit of DLIO that the stamp names, or unknown.", known=Known.RUN)
    stamp_core: Fact[str] = fact("core-config-v1 hash of the stamp, or unknown.", known=Known.RUN)
    workload: Fact[str] = fact("Family and model, e.g. training unet3d.", known=Known.RUN)
    comparable_as: Fact[list[str]] = fact(
        "Names of the comparability classes that would hold the run: edition, division, family, model, accelerator "
        "(its own, and any), hash.",
        known=Known.RUN,
    )
