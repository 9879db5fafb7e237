"""The tables of ``df`` that benchmarks print into their logs."""

import pytest

from mlpstorage.results.dlio import df_table, mount_of

HEADER = "Filesystem 1K-blocks Used Available Use% Mounted on\n"
ROOT = "/dev/nvme0n1p2 959786032 10 803591000 12% /\n"
PFS = "srv:/pfs 99999999 5 94444444 6% /mnt/pfs\n"
BOTH = ["/", "/mnt/pfs"]


@pytest.mark.parametrize(
    ("log", "mounts"),
    [
        (HEADER + ROOT + PFS, BOTH),
        ("started\n" + HEADER + ROOT + PFS + "\nready\n", BOTH),
        (HEADER + ROOT + "none 0 0 0 - /proc/fs\n" + PFS, ["/", "/proc/fs", "/mnt/pfs"]),
        (HEADER + ROOT + "[INFO] 10:00 rank 3 is ready\n" + PFS, BOTH),
        (HEADER + ROOT + "\n" + HEADER + PFS, BOTH),
        (HEADER + ROOT + HEADER + PFS, BOTH),
        (HEADER + ROOT + "srv:/a b c 99999999 5 94444444 6% /mnt/pfs\n", BOTH),
        (HEADER + ROOT + "srv:/a-very-long-name\n          99999999 5 94444444 6% /mnt/pfs\n", BOTH),
        (HEADER.replace("1K-blocks", "Size") + "/dev/sda1 1.8T 3,2G 1.7T 1% /\n", ["/"]),
        (HEADER.replace("1K-blocks", "Type 1K-blocks") + "/dev/sda1 ext4 18 3 17 1% /\n", ["/"]),
        (ROOT + PFS, []),
        (HEADER + "\n" + ROOT + PFS, []),
        (HEADER + "short row 12% /\n", []),
        (HEADER + " " * 200_000 + "\n" + "1 " * 200_000, []),
        ("", []),
    ],
    ids=[
        "plain", "in a log", "no size", "a line between", "two tables", "two tables in one", "blanks in a device",
        "broken row", "human", "types", "no header", "ended by an empty line", "too few columns", "hostile", "nothing",
    ],
)  # fmt: skip
def test_the_mounts_of_a_log(log: str, mounts: list[str]) -> None:
    assert [mount.mount_point for mount in df_table(log)] == mounts


def test_the_device_of_a_broken_row_stands_above_it() -> None:
    (mount,) = df_table(HEADER + "srv:/a-very-long-name\n    99999999 5 94444444 6% /mnt/pfs\n")
    assert mount.device == "srv:/a-very-long-name"
    assert mount_of("/mnt/pfs/ckpt", [mount]) == mount
    assert mount_of("/mnt/pf", [mount]) is None
