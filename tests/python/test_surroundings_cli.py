"""`ft` where the system around it does not play along: full disks, closed streams, odd operands."""

import os
import resource
import subprocess

import pytest

from cli import FT, ROOT, ft, needs_ft

MODEL = ROOT / "examples/models/tiny-moe-nvfp4"

pytestmark = needs_ft


@pytest.mark.parametrize("words", ["--help", "config show", "completion bash", f"inspect {MODEL}"])
def test_an_answer_that_cannot_be_written_is_a_failure(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([FT, *words.split()], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1
    assert b"standard output cannot be written" in done.stderr


def test_ids_that_cannot_be_written_are_a_failure():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [FT, "tokenize", MODEL], input=b'{"text":"hi"}\n', stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert done.returncode == 1 and b"cannot be written" in done.stderr


@pytest.mark.parametrize("words", [["tokenize", MODEL], ["render", "--jsonl"]])
def test_an_input_that_cannot_be_read_is_a_failure(words):
    folder = os.open("/", os.O_RDONLY)
    try:
        done = subprocess.run([FT, *words], stdin=folder, capture_output=True, timeout=60)
    finally:
        os.close(folder)
    assert done.returncode == 1 and b"the input cannot be read" in done.stderr


def test_a_file_limit_is_an_error_and_leaves_nothing(tmp_path):
    done = subprocess.run(
        [FT, "eval", "logits", "--model", MODEL, "--ids", "1,2,3", "--out", tmp_path / "o.safetensors"],
        capture_output=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
    )
    assert done.returncode == 1 and b"File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_given_as_output_file_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    ft("eval", "logits", "--model", MODEL, "--ids", "1", "--out", pipe)
    assert b"logits" in reader.communicate(timeout=60)[0]
    assert pipe.is_fifo()


def test_an_operand_follows_a_flag_and_stands_behind_two_dashes():
    assert "no such folder" in ft("serve", "--host", "localhost", "/no/such/model", code=3).err
    assert "no such folder" in ft("inspect", "--", "--model", code=3).err
    assert "needs a value" in ft("serve", "--port=", "8000", code=2).err
