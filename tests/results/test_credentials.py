"""What is taken for a credential, and what is not."""

import pytest

from mlpstorage.results.credentials import (
    HIDDEN,
    UNNAMED,
    Curtain,
    holds_credential,
    may_name_credential,
    names_credential,
    recorded_credentials,
    shown,
    spoken_credentials,
)


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("AWS_SECRET_ACCESS_KEY", True),
        ("HF_TOKEN", True),
        ("storage.storage_options.access_key_id", True),
        ("db.password", True),
        ("PGPASSWORD", True),
        ("PGPASSFILE", False),
        ("max_tokens", False),
        ("tokenizer_path", False),
        ("keyboard", False),
        ("secretAccessKey", True),
        ("access-key", True),
        ("ACCESS_TOKENS_USED", False),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", False),
        ("private_key_path", False),
        ("tokenizer.pad_token", False),
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
        ({"HF_TOKEN": "${HF_TOKEN:-}"}, []),
        ({"HF_TOKEN": "$(cat token)"}, []),
        ({"HF_TOKEN": "n/a"}, []),
        ({"AWS_ACCESS_KEY_ID": "AKIA****"}, []),
        ({"endpoint": "https://user:****@host"}, []),
        ({"endpoint": "https://user:$PASS@host"}, []),
        ({"text": '{"a": 1, "b": "x@y"}'}, []),
        ({"HF_TOKEN": None, "password": 5}, []),
        ({"password": ["abc"]}, ["password"]),
        ({"endpoint": "me:ab/c@host"}, ["endpoint"]),
        ({"mpi_params": "-x AWS_SECRET_ACCESS_KEY=abc"}, ["AWS_SECRET_ACCESS_KEY"]),
        (["--password", "abc"], ["password"]),
    ],
)
def test_what_is_masked_or_empty_is_none(settings, names):
    assert sorted({*recorded_credentials(settings)}) == names


@pytest.mark.parametrize(
    "settings",
    [{"HF_TOKEN=hunter2": "1"}, {"https://me:hunter2@host/a_token": "1"}, ["https://me:hunter2@host/a_token=1"]],
)
def test_a_name_that_may_hold_the_value_is_not_repeated(settings):
    assert {*recorded_credentials(settings)} == {UNNAMED}


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
    assert list(spoken_credentials(f"token '{'a' * 1_000_000}'")) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("mpirun -x AWS_SECRET_ACCESS_KEY=abc -n 8 dlio_benchmark", ["AWS_SECRET_ACCESS_KEY"]),
        ("mpirun -x AWS_SECRET_ACCESS_KEY -n 8 dlio_benchmark", []),
        ("mpirun -x 'TOKEN=abc'", ["TOKEN"]),
        ("run --secret-key=abc", ["secret-key"]),
        ("run --password abc --seed 5", ["password"]),
        ("run --password --seed 5", []),
        ("mpiexec -genv HF_TOKEN abc", ["HF_TOKEN"]),
        ("srun --export=ALL,HF_TOKEN=abc", ["HF_TOKEN"]),
        ("run --endpoint https://me:abc@host", ["(a setting without a plain name)", "endpoint"]),
        ("mpirun https://me:hunter2@host/a_token=1", ["(a setting without a plain name)"]),
        ("dlio_benchmark ++workload.storage.endpoint=https://me:abc@host", ["workload.storage.endpoint"]),
        ("dlio_benchmark ++workload.checkpoint.fsync=true", []),
    ],
)
def test_commands_are_read_word_by_word(command, names):
    assert sorted({*spoken_credentials(command)}) == names


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("reader.read_threads", "8", False),
        ("dataset.folder", "/mnt/data", False),
        ("storage.secret_key", "abc", True),
        ("storage.pwd", "abc", True),
        ("storage.opts", "['secret_key=abc']", True),
        ("storage.opts", "{'token': 'abc'}", True),
        ("storage.endpoint", "https://host/y?token=abc", True),
        ("storage.endpoint", "https://host:9000", False),
        ("storage.endpoint", "me:abc@host", True),
    ],
)
def test_what_may_be_one_is_hidden(name, value, hidden):
    assert (shown(name, value) == HIDDEN) is hidden
    assert (Curtain().shown(name, value) == HIDDEN) is hidden


def test_hidden_values_stay_different():
    curtain = Curtain()
    one, two, again = (curtain.shown("token", value) for value in ("abc", "def", "abc"))
    assert one == again != two
