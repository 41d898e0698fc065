"""`ft eval logits` against what transformers made of every golden checkpoint of our families.

FT_FULL_SWEEP=1 tries every combination of backend, slots, device, chunk and page size.
"""

import itertools
import json

import pytest

from cli import FULL, SHARED, ft, needs, needs_ft, read_safetensors

MODELS = SHARED / "golden/models"
FAMILIES = ("qwen3_moe", "qwen3", "qwen2", "llama", "mixtral")
FOLDERS = sorted(path for f in FAMILIES for path in MODELS.glob(f"{f}-*"))
NAMES = [path.name for path in FOLDERS]
EXACT = 1e-4  # of the largest logit
SERVED_MEDIAN = 0.02  # where the golden says nothing about a bf16 run

pytestmark = [needs_ft, needs(MODELS)]
each_model = pytest.mark.parametrize("model", FOLDERS, ids=NAMES)


def golden_of(model):
    tensors = read_safetensors(model / "golden.safetensors")
    return tensors["input_ids"][1], tensors["logits"][1], tensors["greedy"][1]


def evaluate(model, out, *flags, greedy=True):
    ids, _, want = golden_of(model)
    file = out / "out.safetensors"
    ft(
        *("eval", "logits", "--model", model, "--ids", ",".join(map(str, ids)), "--out", file),
        *(("--greedy", len(want)) if greedy else ()),
        *flags,
    )
    tensors = read_safetensors(file)
    return tensors["logits"], tensors["greedy"][1] if greedy else None


def experts_of(model):
    """(experts of a layer, MoE layers); (0, 0) where there are none."""
    config = json.loads((model / "config.json").read_text())
    experts = config.get("num_experts") or config.get("num_local_experts") or 0
    layers = config["num_hidden_layers"] - len(config.get("mlp_only_layers") or [])
    return (experts, layers) if experts else (0, 0)


def slot_counts(model):
    experts, layers = experts_of(model)
    return [1, *(experts * n for n in range(1, layers + 1))] if experts else [1]


def worst(got, want):
    return max(abs(a - b) for a, b in zip(got, want, strict=True)) / max(map(abs, want))


def median_row(got, want, width):
    rows = []
    for begin in range(0, len(want), width):
        rows.append(worst(got[begin : begin + width], want[begin : begin + width]))
    return sorted(rows)[len(rows) // 2]


@each_model
@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--moe-backend", "resident"),
        ("--moe-backend", "offload", "--moe-cache-size", "1"),
        ("--moe-backend", "offload", "--device", "sim"),
    ],
    ids=["plain", "resident", "offload", "sim"],
)
def test_exact_logits_and_greedy_are_the_references(model, flags, tmp_path):
    _, logits, greedy = golden_of(model)
    (shape, got), continued = evaluate(model, tmp_path, *flags)
    assert shape[0] * shape[1] == len(logits)
    assert worst(got, logits) < EXACT
    assert continued == greedy


def variants(model):
    """Flags whose results must be bit for bit those of resident, one chunk."""
    experts = experts_of(model)[0]
    backends = [("resident", None)] + [("offload", n) for n in slot_counts(model)]
    if not experts:
        backends = [("auto", None)]
    whole = len(golden_of(model)[0])
    every = itertools.product(backends, ("cpu", "sim"), (1, 7, 64, whole), (1, 16, 64))
    for i, ((backend, slots), device, chunk, page) in enumerate(every):
        if FULL or i % 17 == 0:
            yield (
                *("--moe-backend", backend, "--device", device),
                *("--max-prefill-length", chunk, "--page-size", page),
                *(("--moe-cache-size", slots) if slots else ()),
            )


@each_model
@pytest.mark.parametrize("compute", ["exact", "served"])
def test_deterministic_is_the_same_to_the_bit(model, compute, tmp_path):
    both = ("--compute", compute, "--deterministic")
    base = evaluate(model, tmp_path, *both, "--moe-backend", "resident", "--device", "cpu")
    different = []
    for flags in variants(model):
        got = evaluate(model, tmp_path, *both, *flags)
        if got[0][1].tobytes() != base[0][1].tobytes() or got[1] != base[1]:
            different.append((flags, worst(got[0][1], base[0][1])))
    assert not different


@each_model
def test_served_is_no_worse_than_the_references_own_bf16(model, tmp_path):
    _, logits, _ = golden_of(model)
    (shape, got), _ = evaluate(model, tmp_path, "--compute", "served")
    said = json.loads((model / "golden.json").read_text())
    bound = said.get("bf16_median_row_differs_by") or SERVED_MEDIAN
    assert median_row(got, logits, shape[1]) <= bound
