#!/usr/bin/env python3
"""Writes unicode_table.cpp: the code points that the `tokenizers` library's regex engine takes for
each Unicode class. Run by hand when the library's Unicode version moves:

    pip install tokenizers==0.23.3
    python3 make_unicode_table.py > unicode_table.cpp
"""

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

LEAVES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()
)
SCRIPTS = "Han Hiragana Katakana Hangul Latin Greek Cyrillic Arabic Hebrew Thai Devanagari".split()
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def members(pattern):
    """Code points that `pattern`, a class, matches."""
    cut = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "removed")
    found = set()
    for i in range(0, len(CODE_POINTS), 4096):
        block = CODE_POINTS[i : i + 4096]
        kept = set()
        for piece, _ in cut.pre_tokenize_str("".join(map(chr, block))):
            kept.update(map(ord, piece))
        found.update(c for c in block if c not in kept)
    return found


def added_token_word():
    """Characters that forbid a single_word added token beside them."""
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("<W>", single_word=True)])
    return {c for c in CODE_POINTS if 1 not in tokenizer.encode(chr(c) + "<W>").ids}


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return ",".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in out)


def emit(name, points):
    text = ranges(points)
    lines = [text[i : i + 88] for i in range(0, len(text), 88)]
    body = "\n".join(f'     "{line}"' for line in lines)
    print(f'    {{"{name}",\n{body}}},')


def main():
    leaf = {name: members(rf"\p{{{name}}}") for name in LEAVES}
    for group in "LMNPSZ":
        union = set().union(*(leaf[name] for name in LEAVES if name[0] == group))
        assert union == members(rf"\p{{{group}}}"), group
    word = set().union(*(leaf[n] for n in LEAVES if n[0] in "LM" or n in ("Nd", "Nl", "Pc")))
    # The engine's \w and [\w] differ below U+0100.
    words = {
        "split_word": members(r"\w"),
        "split_class_word": members(r"[\w]"),
        "token_word": added_token_word(),
    }
    print("// Made by make_unicode_table.py from `tokenizers` 0.23.3 (Unicode 16); do not edit.")
    print('#include "core/text/tokenizer/unicode_table.h"\n')
    print("namespace ft::text {\n")
    print("// clang-format off")
    print("const UnicodeTableEntry kUnicodeTable[] = {")
    for name in LEAVES:
        emit(name, leaf[name])
    for name in SCRIPTS:
        emit(name, members(rf"\p{{{name}}}"))
    emit("space", members(r"\s"))
    for name, points in words.items():
        assert word <= points, name
        emit(f"{name}_extra", points - word)
    print("};\n// clang-format on\n")
    print("const size_t kUnicodeTableSize = sizeof(kUnicodeTable) / sizeof(kUnicodeTable[0]);\n")
    print("}  // namespace ft::text")


if __name__ == "__main__":
    main()
