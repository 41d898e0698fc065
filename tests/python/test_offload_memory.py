"""`--moe-backend offload` never holds more expert bytes than its slots: measured by peak RSS."""

import os
import subprocess

import pytest

import random_checkpoint
from cli import FT, needs_ft, read_safetensors

pytestmark = needs_ft
LAYERS, EXPERTS = 4, 32
MIB = 1 << 20
SLACK = 12 * MIB  # activations of a wave, rounding to large pages
IDS = ",".join(str(3 + i * 37 % 500) for i in range(120))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random") / "model"
    return folder, random_checkpoint.write(folder, LAYERS, EXPERTS)


def peak(folder, out, *flags):
    """Peak resident bytes of an evaluation, and its logits."""
    file = out / "out.safetensors"
    command = ("eval", "logits", "--model", folder, "--ids", IDS, "--out", file, *flags)
    process = subprocess.Popen([str(FT), *map(str, command)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024, read_safetensors(file)["logits"][1].tobytes()


@pytest.mark.parametrize("compute", ["exact", "served"])
def test_peak_memory_follows_the_budget(checkpoint, compute, tmp_path):
    folder, expert_bytes = checkpoint
    both = ("--compute", compute, "--deterministic")
    offload = (*both, "--device", "cpu", "--moe-backend", "offload")
    resident, logits = peak(folder, tmp_path, *both, "--moe-backend", "resident")
    one, got = peak(folder, tmp_path, *offload, "--moe-cache-size", 1)
    assert got == logits
    assert resident - one > 0.8 * LAYERS * EXPERTS * expert_bytes
    for slots in (8, EXPERTS, 2 * EXPERTS):
        used, got = peak(folder, tmp_path, *offload, "--moe-cache-size", slots)
        assert got == logits
        assert used <= one + (slots - 1) * expert_bytes + SLACK
    used, got = peak(folder, tmp_path, *offload, "--moe-cache-mem", f"{16 * expert_bytes}")
    assert got == logits
    assert used <= one + 15 * expert_bytes + SLACK
