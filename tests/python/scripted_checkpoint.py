"""Writes real checkpoints whose greedy reply is a given list of tokens.

A llama without attention or MLP to speak of: the embedding is one-hot and the output matrix maps
each token to the one that follows it in the script. So no token may stand twice in a script.
"""

import array
import json
import pathlib

from cli import write_safetensors

START = "[GO]"  # ends every prompt; the script follows it
SPECIAL = [START, "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
PLAIN = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}" + START + "{% endif %}"
)


def byte_letters():
    """The letter that stands for each byte in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for i, byte in enumerate(byte for byte in range(256) if byte not in letters):
        letters[byte] = chr(256 + i)
    return letters


def write(folder, pieces, template=TEMPLATE, config=None, generation=None, eos="<|im_end|>"):
    """`pieces`: the reply, each the bytes of a token or the text of an added one.

    `config` and `generation` get the ids by name ("ids": those of the script) and give what their
    file should say. Returns those ids.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    letters = byte_letters()
    vocab = {letters[byte]: byte for byte in range(256)}
    for piece in pieces:
        if isinstance(piece, bytes):
            vocab.setdefault("".join(letters[byte] for byte in piece), len(vocab))
    added = {text: len(vocab) + i for i, text in enumerate(SPECIAL + PLAIN)}
    size = -(-(len(vocab) + len(added)) // 16) * 16
    ids = [
        added[piece] if isinstance(piece, str) else vocab["".join(letters[b] for b in piece)]
        for piece in pieces
    ]
    assert len(set(ids)) == len(ids), "a token stands twice"
    write_tokenizer(folder, vocab, added, template, eos)
    write_weights(folder, size, dict(zip([added[START], *ids], [*ids, ids[-1]])))
    base = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": size,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": 512,
        "vocab_size": size,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
    }
    by_name = {**added, "ids": ids}
    if config:
        base |= config(by_name)
    (folder / "config.json").write_text(json.dumps(base))
    if generation:
        (folder / "generation_config.json").write_text(json.dumps(generation(by_name)))
    return by_name


def write_tokenizer(folder, vocab, added, template, eos):
    level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": number,
                "content": text,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": text in SPECIAL,
            }
            for text, number in added.items()
        ],
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocab,
            "merges": [],
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    if eos:
        config["eos_token"] = eos
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_weights(folder, size, following):
    def tensor(shape, ones=()):
        flat = array.array("f", bytes(4 * shape[0] * (shape[1] if len(shape) > 1 else 1)))
        for row, column in ones:
            flat[row * shape[1] + column] = 1.0
        return ("F32", shape, flat.tobytes())

    norm = ("F32", [size], array.array("f", [1.0] * size).tobytes())
    layer = "model.layers.0"
    tensors = {
        "model.embed_tokens.weight": tensor([size, size], [(i, i) for i in range(size)]),
        "lm_head.weight": tensor([size, size], [(b, a) for a, b in following.items()]),
        "model.norm.weight": norm,
        f"{layer}.input_layernorm.weight": norm,
        f"{layer}.post_attention_layernorm.weight": norm,
        f"{layer}.self_attn.o_proj.weight": tensor([size, 16]),
        f"{layer}.mlp.gate_proj.weight": tensor([16, size]),
        f"{layer}.mlp.up_proj.weight": tensor([16, size]),
        f"{layer}.mlp.down_proj.weight": tensor([size, 16]),
    }
    for name in ("q_proj", "k_proj", "v_proj"):
        tensors[f"{layer}.self_attn.{name}.weight"] = tensor([16, size])
    write_safetensors(folder / "model.safetensors", tensors)
