"""Values, lines and names to be put where sound ones were: edges, other types, and what does harm when it is shown."""

from __future__ import annotations

NUMBERS = (
    "0", "-0", "-0.0", "1", "-1", "2", "3", "7", "10", "0.5", "1.5", "-1e-9", "1e-320", "99", "100", "101", "1e9",
    "1E+3", "1024", "4096", "65536", "2147483647", "2147483648", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e15", "1e18",
    "1e100", "1e308", "-1e308", "1e999", "-1e999", "0.1e-400", "NaN", "Infinity", "-Infinity", "1" + "0" * 400,
    "-" + "9" * 4300, "9" * 5000, "0." + "1" * 400, "08", "0x10", "1_000", "+1", ".5", "5.", "1e", "--1", "1,5",
)  # fmt: skip
"""In the place of a number, as JSON has it or nearly so."""
TEXTS = (
    "", " ", "0", "1", "-1", "8", " 8 ", "08", "8.0", "8.5", "1e3", "1e999", "nan", "inf", "-inf", "true", "True",
    "FALSE", "false", "yes", "no", "null", "None", "~", "[]", "{}", "closed", "OPEN", "Closed", "run", "datagen",
    "datasize", "file", "object", "FILE", "s3", "0.0", "1_000", "\u0668", "\xb2", "\xbd", "\uff11\uff16", "8\\u0000",
    "\\u0000", "\\u001b[2J\\u001b[31mred", "\\u202egnp.exe", "\\ud800", "\\udfff\\ud800", "\\ud83d\\ude00",
    "a\\nb\\r\\n::error::x", "\\u2028", "\\ufeff8", "\\\\", '\\"', "<script>alert(1)</script>", "]]>", "=1+1", "|x|",
    "`x`", "../../../etc/passwd", "/", "//", ".", "..", "/dev/zero", "C:\\\\x", "a/b", "a:b", ":", "a:", ":8",
    "host:8", "host:-1", "host:999999999999", "host:8:8", "[::1]:8", "host:x", "h1:4,h2:4", ",", "a=b", "=", "a=",
    "=b", "++workload.x=1", "--", "-n", "llama3-8b", "llama3-405b", "unet3d", "s3://b/k", "%s%n", "${x}", "{x}",
    "{0.__class__}", "$(reboot)", "\xe9", "e\\u0301", "\xdf", "\u017f", "\u0130", "\\u200b", "k" * 70, "x" * 300,
)  # fmt: skip
"""Between the quotes of a JSON text."""
TIMES = (
    "2026-02-30T10:00:00", "2026-07-01T24:00:00", "2026-07-01T23:59:60", "0001-01-01T00:00:00",
    "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "1970-01-01T00:00:00",
    "1969-12-31T23:59:59Z", "2200-01-01", "2199-12-31T23:59:59-23:59", "2026-07-01", "10:00:00", "2026-07-01T10",
    "2026-W27-3", "20260701T100000", "20260701_100000", "2026-07-01 10:00:00", "2026-07-01T10:00:00Z",
    "2026-07-01T10:00:00+05:45", "2026-07-01T10:00:00+24:00", "2026-07-01T10:00:00,5",
    "2026-07-01T10:00:00.1234567890123", "1751364000", "2026-183", "2026-07-01T10:00:00 ",
    "\uff12\uff10\uff12\uff16-07-01T10:00:00", "-2026-07-01T10:00:00",
)  # fmt: skip
"""In the place of a time."""
WORDS = (
    "null", "true", "false", "[]", "{}", "[[]]", "[{}]", '{"": null}', "[null]", "[1, 2, 3]", '["a", 1, null, {}]',
    '{"a": {"b": {"c": []}}}', "[0.0, NaN]", "undefined", "'x'", "", "[1,]", '{"a"}', "[", "}", '"',
)  # fmt: skip
"""In the place of any JSON value."""
KEYS = (
    "", " ", "a", "0", "__class__", "\\u0000", "\\ud800", "\\u202e", "a/b", "a~1b", "args", "hosts", "key" * 40,
)  # fmt: skip
"""Between the quotes of a JSON key."""
COMMANDS = (
    "'", '"', "\\\\", " '", ' \\"', ";", "|", "&&", "`", "$(", "\\n", "\\t", "\\u0000", "--", " -- ", "=", "==",
    " = ", "#", "~", "*", " -n", " -np 0 ", " -n 8 -n 16 ", " -host ", " --host a:1,b:2 ", " -x A=B ", "\\u00a0",
    "\\u2003", " ++workload.checkpoint.num_checkpoints_write=1 ", " --config-dir= ", " --num-users 0 ",
)  # fmt: skip
"""Before or after a word of a command line that stands in JSON."""
YAML_VALUES = (
    "", "~", "null", "yes", "off", "True", "0o17", "0x1F", "017", "1:30", "1_0", ".inf", "-.INF", ".nan", "1e3",
    "1.0e+3", "2026-02-30", "2026-07-01", "2026-07-01T10:00:00Z", "2026-07-01 10:00:00 +25:00", "[]", "{}",
    "[a, [b, {c: d}]]", "{a: 1, a: 2}", "!!str 8", "!!int x", "!!float 8", "!!bool x", "!!binary =", "!!binary aGk=",
    "!!set {a}", "!!omap [a: 1]", "!!timestamp 2026", "!!null x", "!!map []", "!!seq {}",
    "!!python/object/apply:os.system [x]", "!local x", "!<tag:x,2000:y> z", "&a x", "*a", "&a [*a]", "|", ">",
    "|\n  x", "|9", "@x", "`x", "%x", "? x", "- x", ": x", "'x", '"x', '"\\ud800"', '"\\x00"', "'it''s'", "#", "# x",
    "x # y", "=", "<<", "[", "{", "]", "a: b", "a:\n  b", "\u2028", "\x85", "\ufeff", "x" * 2000, "9" * 5000,
    "[" * 40 + "]" * 40,
)  # fmt: skip
"""After the colon."""
YAML_LINES = (
    "---", "...", "%YAML 1.1", "%YAML 9.9", "%TAG ! tag:x:", "<<: {a: 1}", "<<: *a", "? [a, b]\n: c", "? {a: b}",
    "a: &a [*a, *a]", "- x", "-", "-\t-", "\ta: 1", " a: 1", "a", "a:b", "a: b: c", "'a': 1", "1: 2", "null: 1",
    "~: 1", "true: 1", "2026-07-01: 1", "1.5: x", "[a]: b", "*a : b", "!!str a: b", "\x00", "\x1b",
    "key: |\n  text\n bad", "{", "}", "# comment", "a: !!python/name:os.system", "\u202e: 1",
)  # fmt: skip
"""Among the lines."""
ODD_NAMES = (
    " ", "a b", "-", "--help", ".hidden", "...", "a\nb", "\x1b[31mred", "\u202egnp", "\udcff\udcfe", "::error::x",
    "=1+1", "<b>", "`", "|", "a" * 255, "\xe9", "e\u0301", "CON", "x\\y", "{}", "%s", "*", "\u2028", "\x7f",
    "\U000e0001", "results", "systems", "code", "closed", "run", "Closed", "code-images", ".mlps-image-pool",
    ".mlps-code-image", ".code-hash.json", ".mlps-results", "mlps-results", "training", "checkpointing", "kv_cache",
    "vector_database", "datagen", "datasize", "dlio_config", "llama3-8b", "LLaMA3-8B", "unet3d", "20260701_100000",
    "00000000_000000", "20260701_100000.bak",
)  # fmt: skip
"""Names of files and directories."""
STAMPS = (
    "20260230_100000", "20260701_250000", "20260701_100060", "00000000_000000", "99991231_235959", "00010101_000000",
    "20260701-100000", "20260701_1000", "20260701_100000_1", "20260701T100000", "\uff12\uff10\uff12\uff160701_100000",
    "20260701_100000 ", "20260724_172942", "20260701_100001", "21991231_235959", "-0260701_100000", "run",
    "20260701_100000.json", "20260701_10:00:00",
)  # fmt: skip
"""Names of leaves."""
