"""What is taken for a credential, and what is not."""

import pytest

from mlpstorage.results.credentials import (
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
        ({"endpoint": "https://me:abc@host"}, ["endpoint"]),
        ({"endpoint": "https://host/me@there"}, []),
        ({"HF_TOKEN": ""}, []),
        ({"HF_TOKEN": "****"}, []),
        ({"HF_TOKEN": "XXXX"}, []),
        ({"HF_TOKEN": "<redacted>"}, []),
        ({"HF_TOKEN": None, "password": 5, "token": ["abc"]}, []),
    ],
)
def test_what_is_masked_or_empty_is_none(settings, names):
    assert list(recorded_credentials(settings)) == names


def test_settings_that_nest_without_end_are_left():
    settings = {"HF_TOKEN": "abc"}
    for _ in range(10_000):
        settings = {"inner": settings}
    assert list(recorded_credentials(settings)) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("mpirun -x AWS_SECRET_ACCESS_KEY=abc -n 8 dlio_benchmark", ["AWS_SECRET_ACCESS_KEY"]),
        ("mpirun -x AWS_SECRET_ACCESS_KEY -n 8 dlio_benchmark", []),
        ("dlio_benchmark ++workload.storage.endpoint=https://me:abc@host", ["++workload.storage.endpoint"]),
        ("dlio_benchmark ++workload.checkpoint.fsync=true", []),
    ],
)
def test_commands_are_read_word_by_word(command, names):
    assert list(spoken_credentials(command)) == names
