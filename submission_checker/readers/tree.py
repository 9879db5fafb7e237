"""What lies above the workloads as facts: the tree, its submitters and their systems."""

from __future__ import annotations

from collections.abc import Iterable

from mlpstorage.results import layout
from mlpstorage.results.files import Root
from mlpstorage.results.images import IMAGE_PREFIX, LEGACY, POOL, POOL_MARKER
from mlpstorage.results.text import clean
from rules.facts import Absence, FactModel
from rules.facts import tree as facts

from ..listing import RESULTS, SYSTEMS, UNLISTED, Entries, Listing, SubmitterDirectory, SystemDirectory
from .common import unlisted
from .tree_sheet import MAX_RECORDS, Sheet, capped, misplaced_records, obstacle_records


def tree_facts(root: Root, listing: Listing) -> facts.Tree:
    """The top of the tree."""
    sheet = Sheet("")
    sheet.put("live", listing.live)
    sheet.put("divisions", sorted({name.lower() for name, _ in listing.divisions}))
    for division in layout.DIVISIONS:
        count = sum(count for name, count in listing.divisions if name.lower() == division)
        locked = [o for o in listing.obstacles if o.kind == UNLISTED and o.path.lower() == division]
        missing = unlisted(locked[0].path, locked[0].detail) if locked and not count else None
        sheet.put(f"{division}_submitters", missing or count)
    pools = {pool.path: pool for pool in listing.pools}
    sheet.put("directories", capped([_top_directory(name, pools.get(name)) for name in listing.root.visible], "name"))
    sheet.put("misplaced", misplaced_records(listing.misplaced))
    sheet.put("obstacles", obstacle_records(listing.obstacles))
    return sheet.build(facts.Tree, ".")


def _top_directory(name: str, pool: Entries | None) -> facts.TopDirectory:
    images = pool is not None and any(_is_image(child) for child in pool.directories)
    marked = pool is not None and POOL_MARKER in pool.files
    return facts.TopDirectory(
        name=clean(name),
        path=clean(name),
        lower=clean(name.lower()),
        marked=marked,
        images=images,
        listed=pool is None or not pool.problem,
    )


def _is_image(name: str) -> bool:
    return name.startswith(IMAGE_PREFIX) and all(digit in "0123456789abcdef" for digit in name[len(IMAGE_PREFIX) :])


def submitter_facts(root: Root, listing: Listing, submitter: SubmitterDirectory) -> facts.Submitter:
    """One submitter's own directories."""
    path = clean(submitter.path)
    sheet = Sheet(path)
    sheet.put("division", submitter.division)
    sheet.put("name", clean(submitter.name))
    sheet.put("layout", _layout(listing, submitter))
    entries = submitter.entries
    missing = unlisted(path, entries.problem) if entries.problem else None
    meant = {name: layout.spelt(entries.directories, name) for name in (RESULTS, SYSTEMS, LEGACY)}
    for name, there in meant.items():
        sheet.put(f"has_{name}", missing or bool(there))
    proposed = {there: name for name, there in meant.items() if there != name}
    records = [
        facts.SubmitterEntry(
            name=clean(name),
            path=clean(f"{submitter.path}/{name}"),
            stamped=layout.leaf_time(name) is not None,
            nested=name in submitter.nested,
            proposed=proposed.get(name, ""),
        )
        for name in entries.visible[: MAX_RECORDS + 1]
    ]
    sheet.put("directories", missing or capped(records, "name", len(entries.visible)))
    sheet.put("misplaced", misplaced_records(submitter.misplaced))
    sheet.put("obstacles", obstacle_records(submitter.obstacles))
    return sheet.build(facts.Submitter, path)


def _layout(listing: Listing, submitter: SubmitterDirectory) -> str | Absence:
    """By evidence: the newest form of keeping code that the tree shows."""
    if POOL in listing.root.directories:
        return "3"
    own = next((pool for pool in listing.pools if pool.path == submitter.name), None)
    if own is not None and own.problem:
        return unlisted(own.path, own.problem)
    if own is not None and POOL_MARKER in own.files:
        return "2"
    return "1" if listing.code else "none"


def system_facts(system: SystemDirectory, workloads: Iterable[FactModel]) -> facts.SystemResults:
    """One system's results, over what its workload directories gave."""
    path = clean(system.path)
    sheet = Sheet(path)
    sheet.put("division", system.division)
    sheet.put("name", clean(system.name))
    problem = next((o.detail for o in system.obstacles if o.kind == UNLISTED and o.path == system.path), "")
    missing = unlisted(path, problem) if problem else None
    stamped = sum(1 for leaf in system.misplaced if leaf.rpartition("/")[0] == system.path)
    sheet.put("num_categories", missing or len(system.families) + stamped)
    categories = [
        facts.Family(
            name=clean(family.name),
            path=clean(family.path),
            proposed=family.family,
            children=family.children,
            listed=not family.problem,
        )
        for family in system.families
    ]
    sheet.put("categories", missing or capped(categories, "name"))
    names: dict[str, facts.WorkloadName] = {}
    for workload in system.workloads:
        family = workload.path.removeprefix(f"{system.path}/").split("/")
        below = f"{system.path}/{'/'.join(family[:2])}"
        names[below] = facts.WorkloadName(
            name=clean(family[1]), path=clean(below), family=workload.family, misplaced=len(workload.misplaced)
        )
    sheet.put("workloads", missing or capped(list(names.values()), "name"))
    sheet.put("misplaced", misplaced_records(system.misplaced))
    sheet.put("obstacles", obstacle_records(system.obstacles))
    return sheet.build(facts.SystemResults, path, workloads)
