"""What is taken for a credential, and what is not."""

import pytest

from mlpstorage.results.credentials import (
    UNNAMED,
    holds_credential,
    may_name_credential,
    names_credential,
    recorded_credentials,
    spoken_credentials,
)


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("AWS_SECRET_ACCESS_KEY", True),
        ("HF_TOKEN", True),
        ("storage.storage_options.access_key_id", True),
        ("db.password", True),
        ("max_tokens", False),
        ("tokenizer_path", False),
        ("keyboard", False),
        ("secretAccessKey", True),
        ("access-key", True),
        ("ACCESS_TOKENS_USED", False),
        ("PATH", False),
    ],
)
def test_a_setting_is_known_by_its_name(name, holds):
    assert names_credential(name) is holds


def test_what_is_shown_is_chosen_more_carefully():
    assert may_name_credential("tokenizer_path")
    assert not may_name_credential("reader.batch_size")


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"HF_TOKEN": "abc"}, ["HF_TOKEN"]),
        ({"environment": {"HF_TOKEN": "abc", "HOME": "/root"}}, ["HF_TOKEN"]),
        (["HF_TOKEN=abc", "HOME=/root", 5], ["HF_TOKEN"]),
        ([{"name": "HF_TOKEN", "value": "abc"}], ["HF_TOKEN"]),
        ({"params": ["storage.secret_access_key=abc"]}, ["storage.secret_access_key"]),
        ({"endpoint": "https://me:abc@host"}, ["endpoint"]),
        ({"endpoint": "https://host/me@there"}, []),
        ({"HF_TOKEN": ""}, []),
        ({"HF_TOKEN": "****"}, []),
        ({"HF_TOKEN": "XXXX"}, []),
        ({"HF_TOKEN": "<redacted>"}, []),
        ({"HF_TOKEN": "$HF_TOKEN"}, []),
        ({"HF_TOKEN": None, "password": 5, "token": ["abc"]}, []),
    ],
)
def test_what_is_masked_or_empty_is_none(settings, names):
    assert list(recorded_credentials(settings)) == names


@pytest.mark.parametrize(
    "settings",
    [{"HF_TOKEN=hunter2": "1"}, {"https://me:hunter2@host/a_token": "1"}, ["https://me:hunter2@host/a_token=1"]],
)
def test_a_name_that_may_hold_the_value_is_not_repeated(settings):
    assert list(recorded_credentials(settings)) == [UNNAMED]


def test_settings_that_nest_without_end_are_left():
    settings = {"HF_TOKEN": "abc"}
    for _ in range(10_000):
        settings = {"inner": settings}
    assert list(recorded_credentials(settings)) == []


def test_long_texts_take_no_long_time():
    """With the square of the length this would take an hour."""
    text = "://" + "a:" * 500_000 + "/@"
    assert not holds_credential(text)
    assert list(recorded_credentials({"x": text, text: "x"})) == []
    assert list(spoken_credentials(text)) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("mpirun -x AWS_SECRET_ACCESS_KEY=abc -n 8 dlio_benchmark", ["AWS_SECRET_ACCESS_KEY"]),
        ("mpirun -x AWS_SECRET_ACCESS_KEY -n 8 dlio_benchmark", []),
        ("mpirun -x 'TOKEN=abc'", ["TOKEN"]),
        ("run --secret-key=abc", ["secret-key"]),
        ("run --password abc --seed 5", ["password"]),
        ("run --password --seed 5", []),
        ("run --endpoint https://me:abc@host", ["(a setting without a plain name)", "endpoint"]),
        ("mpirun https://me:hunter2@host/a_token=1", ["(a setting without a plain name)"]),
        ("dlio_benchmark ++workload.storage.endpoint=https://me:abc@host", ["workload.storage.endpoint"]),
        ("dlio_benchmark ++workload.checkpoint.fsync=true", []),
    ],
)
def test_commands_are_read_word_by_word(command, names):
    assert sorted(spoken_credentials(command)) == names
