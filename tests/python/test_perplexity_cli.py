"""`ft eval perplexity` against the tiny models' references; FT_FULL_SWEEP=1 takes all five."""

import json

import pytest

from cli import FULL, SHARED, ft, needs, needs_ft

TEXT = SHARED / "data/tinyshakespeare.txt"
FORMATS = ("bf16", "nvfp4", "nvfp4-modelopt", "mxfp4", "fp8") if FULL else ("nvfp4",)

pytestmark = [needs_ft, needs(TEXT)]


def measure(name, *flags):
    model = SHARED / f"models/tiny-moe-{name}"
    if not model.exists():
        pytest.skip(f"{model} is absent")
    done = ft(
        *("eval", "perplexity", "--model", model, "--text", TEXT, "--from-byte", 1003854),
        *("--json", *flags),
        timeout=600,
    )
    return json.loads(done.out), json.loads((model / "golden.json").read_text())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("compute, bound", [("exact", 1e-3), ("served", 1e-2)])
def test_perplexity_is_the_references(name, compute, bound):
    got, want = measure(name, "--compute", compute)
    assert got["num_scored_tokens"] == want["predicted_tokens"]
    assert abs(got["perplexity"] / want["perplexity"] - 1) < bound


def test_a_short_text_scores_the_same_wherever_experts_are(tmp_path):
    text = tmp_path / "text"
    text.write_bytes(TEXT.read_bytes()[1003854:1006854])
    model = SHARED / "models/tiny-moe-nvfp4"
    flags = ("--model", model, "--text", text, "--context", "64", "--json", "--deterministic")
    base = json.loads(ft("eval", "perplexity", *flags).out)
    for device in ("cpu", "sim"):
        other = ("--moe-backend", "offload", "--moe-cache-size", 9, "--device", device)
        chunks = ("--max-prefill-length", 7, "--page-size", 1)
        assert json.loads(ft("eval", "perplexity", *flags, *other, *chunks).out) == base
