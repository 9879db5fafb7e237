#!/bin/sh
# The main job: two launches judged before anything is started, and a scan of the example tree.
set -eu
cd "$(dirname "$0")/.."

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

# Runs a command that must end with the given exit code.
expect() {
    code=$1
    shift
    say "$@"
    status=0
    "$@" || status=$?
    echo "(exit code $status)"
    [ "$status" -eq "$code" ] || { echo "expected exit code $code"; exit 1; }
}

expect 0 mlpstorage checkpointing run closed --model llama3-8b --checkpoint-subset --dry-run
expect 1 mlpstorage checkpointing run closed --model llama3-70b --num-processes 8 --checkpoint-subset
expect 0 mlpstorage rules matrix checkpointing
expect 1 submission-checker examples/results
printf '\nTo go on: . .venv/bin/activate\n'
