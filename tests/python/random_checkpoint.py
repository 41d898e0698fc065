"""Writes random qwen3_moe checkpoints of any size, in bf16.

python random_checkpoint.py DIR [LAYERS EXPERTS HIDDEN INTERMEDIATE]

The numbers mean nothing; sizes, shapes and names are what published checkpoints have.
"""

import json
import pathlib
import random
import struct
import sys

HEAD_DIM, HEADS, VOCAB = 64, 4, 512
ONE_BF16 = b"\x80\x3f"
HIGH_BYTES = bytes((0x3C, 0x3D, 0xBC, 0xBD)[i % 4] for i in range(256))


def config_of(layers, experts, hidden, intermediate):
    return {
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "moe_intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_experts": experts,
        "num_experts_per_tok": 4,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "norm_topk_prob": True,
        "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS,
        "head_dim": HEAD_DIM,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 4096,
        "vocab_size": VOCAB,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


def shapes_of(layers, experts, hidden, intermediate):
    yield "model.embed_tokens.weight", [VOCAB, hidden]
    yield "model.norm.weight", [hidden]
    for layer in range(layers):
        at = f"model.layers.{layer}"
        for name in ("q_proj", "k_proj", "v_proj"):
            yield f"{at}.self_attn.{name}.weight", [HEADS * HEAD_DIM, hidden]
        yield f"{at}.self_attn.o_proj.weight", [hidden, HEADS * HEAD_DIM]
        for name in ("q_norm", "k_norm"):
            yield f"{at}.self_attn.{name}.weight", [HEAD_DIM]
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{at}.{name}.weight", [hidden]
        yield f"{at}.mlp.gate.weight", [experts, hidden]
        for expert in range(experts):
            for name in ("gate_proj", "up_proj"):
                yield f"{at}.mlp.experts.{expert}.{name}.weight", [intermediate, hidden]
            yield f"{at}.mlp.experts.{expert}.down_proj.weight", [hidden, intermediate]


def random_bf16(rng, num_bytes):
    """bf16 numbers between 0.008 and 0.12 of either sign."""
    data = bytearray(num_bytes)
    data[0::2] = rng.randbytes(num_bytes // 2)
    data[1::2] = rng.randbytes(num_bytes // 2).translate(HIGH_BYTES)
    return data


def write(folder, layers=4, experts=64, hidden=512, intermediate=512, seed=1):
    """Makes the checkpoint; returns the bytes of one expert."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    sizes = (layers, experts, hidden, intermediate)
    (folder / "config.json").write_text(json.dumps(config_of(*sizes)))
    header, begin = {}, 0
    for name, shape in shapes_of(*sizes):
        num_bytes = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, begin + num_bytes]}
        begin += num_bytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    rng = random.Random(seed)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for entry in header.values():
            begin, end = entry["data_offsets"]
            is_norm = len(entry["shape"]) == 1
            file.write(
                ONE_BF16 * ((end - begin) // 2) if is_norm else random_bf16(rng, end - begin)
            )
    return 3 * 2 * hidden * intermediate


if __name__ == "__main__":
    write(sys.argv[1], *map(int, sys.argv[2:]))
