"""Compares `ft tokenize` with the `tokenizers` library on random texts and randomly changed files.

Not part of the plain test run: it needs `pip install tokenizers==0.23.3` and a built ft.
    python3 -m unittest tests/python/test_tokenizer_differential.py
FT_BINARY names the program (default build/release/bin/ft), FT_SEED the random seed,
FT_ROUNDS how many changed tokenizers are tried.
"""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

try:
    from tokenizers import Tokenizer
except ImportError:
    Tokenizer = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
FT = pathlib.Path(os.environ.get("FT_BINARY", ROOT / "build/release/bin/ft"))
GOLDEN_ROOTS = [ROOT / "tests/golden/tokenizers", ROOT / "../shared/golden/tokenizers"]
NUM_TEXTS = 300

FRAGMENTS = (
    "'s|'S|'ſ|'LL|’s| |  |\n|\r\n|\t|\u00a0|\u3000|\u180e|▁|é|e\u0301|\u0301|漢|字|한|あ|、|１|²|½|ⅷ|A|Ab|aB"
    "|ǅ|ʰ|!|...|/|\n\n|\u0085|\u2028|😀|👨\u200d👩|🇩🇪|\u200b|\ufeff|\x00|\x1c|<0x41>|1|1234|ﬁ|K|the| the|_"
).split("|")
PATTERNS = [
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*|\s+(?!\S)|\s",
    r"\s?\p{L}+", r"\s?\p{P}+", r"\s+$", r"[一-龥ࠀ-一가-퟿]+", r"\w+|[^\w\s]+", r"[\w]+", r"^\s*",
    r" ?[^(\s|[.,!?…。，、।۔،])]+", r"(?<=\p{L})\p{N}+", r"[a-z&&[^aeiou]]+", r"[^a-z&&\p{Ll}]+",
    r"\p{Han}|\p{Hiragana}+", r"(?>\s+)(?!x)|\S", r"\p{L}+?", r"[^]a]+", r"a*", r"\P{L}+", r"[\W\d]+",
]
BEHAVIORS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
FLAGS = ["single_word", "lstrip", "rstrip", "normalized", "special"]


def golden_folders():
    for root in GOLDEN_ROOTS:
        yield from sorted(path.parent for path in root.glob("*/tokenizer.json"))


def random_text(rng, added):
    parts = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 30])):
        roll = rng.random()
        if roll < 0.6:
            parts.append(rng.choice(FRAGMENTS))
        elif roll < 0.75 and added:
            parts.append(rng.choice(added))
        else:
            point = rng.choice([rng.randrange(0x3000), rng.randrange(0x20000)])
            parts.append("?" if 0xD800 <= point <= 0xDFFF else chr(point))
    return "".join(parts)


def change(rng, file):
    """Changes a tokenizer.json into another valid one."""
    if file["decoder"]["type"] == "ByteLevel":
        splits = [
            {
                "type": "Split",
                "pattern": {"Regex": rng.choice(PATTERNS)},
                "behavior": rng.choice(BEHAVIORS),
                "invert": rng.random() < 0.3,
            }
            for _ in range(rng.randrange(3))
        ]
        level = {"type": "ByteLevel", "trim_offsets": True}
        level["add_prefix_space"], level["use_regex"] = rng.random() < 0.3, rng.random() < 0.3
        file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": splits + [level]}
        file["normalizer"] = rng.choice([None, *({"type": t} for t in ("NFC", "NFD", "NFKC"))])
    else:
        scheme = rng.choice(["first", "never", "always"])
        metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme}
        metaspace["split"] = rng.random() < 0.5
        if rng.random() < 0.5:
            file["pre_tokenizer"], file["normalizer"] = metaspace, None
        file["decoder"] = rng.choice([None, metaspace, file["decoder"]])
        file["model"]["byte_fallback"] = rng.random() < 0.6
        file["model"]["fuse_unk"] = rng.random() < 0.5
    file["model"]["ignore_merges"] = rng.random() < 0.4
    for token in file["added_tokens"]:
        for flag in FLAGS:
            token[flag] ^= rng.random() < 0.15


def ft_answers(folder, flags, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([FT, "tokenize", folder, *flags], input=text.encode(), capture_output=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


@unittest.skipIf(Tokenizer is None, "the tokenizers library is not installed")
@unittest.skipUnless(FT.exists(), f"{FT} is not built")
class TokenizerDifferentialTest(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(int(os.environ.get("FT_SEED", "1")))

    def compare(self, folder):
        oracle = Tokenizer.from_file(str(folder / "tokenizer.json"))
        added = [token.content for token in oracle.get_added_tokens_decoder().values()]
        texts = [random_text(self.rng, added) for _ in range(NUM_TEXTS)]
        lines = [{"text": text} for text in texts]
        for flags, special in ([], False), (["--special"], True):
            for text, answer in zip(texts, ft_answers(folder, flags, lines), strict=True):
                want = oracle.encode(text, add_special_tokens=special).ids
                self.assertEqual(answer["ids"], want, ascii(text))
        num_ids = max(oracle.get_vocab().values()) + 3
        ids = [
            [self.rng.randrange(num_ids) for _ in range(self.rng.randint(1, 12))] for _ in texts
        ]
        lines = [{"ids": one} for one in ids]
        for flags, skip in (["--decode"], False), (["--decode", "--skip-special"], True):
            for one, answer in zip(ids, ft_answers(folder, flags, lines), strict=True):
                self.assertEqual(answer["text"], oracle.decode(one, skip_special_tokens=skip), one)

    def test_golden_tokenizers_agree_on_random_texts(self):
        for folder in golden_folders():
            with self.subTest(folder.name):
                self.compare(folder)

    def test_changed_tokenizers_agree(self):
        folders = list(golden_folders())
        for round_number in range(int(os.environ.get("FT_ROUNDS", "20"))):
            folder = self.rng.choice(folders)
            file = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            change(self.rng, file)
            with self.subTest(f"{round_number} {folder.name}"), tempfile.TemporaryDirectory() as name:
                changed = pathlib.Path(name) / "tokenizer.json"
                changed.write_text(json.dumps(file), encoding="utf-8")
                try:
                    self.compare(pathlib.Path(name))
                except BaseException as error:  # the library panics where eaten spaces overlap
                    if "bad split" not in str(error):
                        raise


if __name__ == "__main__":
    unittest.main()
