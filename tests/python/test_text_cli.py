"""`ft tokenize` and `ft render` against what the Python libraries made of the goldens."""

import json
import shutil
import struct
import zlib

import pytest

from cli import SHARED, ft, needs, needs_ft

TOKENIZERS = SHARED / "golden/tokenizers"
TEMPLATES = SHARED / "golden/templates"
NOW = "2025-03-07T09:05:03"

pytestmark = needs_ft
each_tokenizer = pytest.mark.parametrize(
    "name", sorted(p.parent.name for p in TOKENIZERS.glob("*/tokenizer.json"))
)
each_template = pytest.mark.parametrize(
    "name", sorted(p.parent.name for p in TEMPLATES.glob("*/cases.json"))
)


def lines_of(path):
    # Not splitlines(): texts hold U+2028 and its kin.
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def answers(arguments, questions):
    text = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    *lines, rest = ft(*arguments, stdin=text.encode("utf-8", "surrogatepass")).out.split("\n")
    assert rest == "" and len(lines) == len(questions)
    return [json.loads(line) for line in lines]


def assert_all(pairs):
    wrong = [pair for pair in pairs if pair[0] != pair[1]]
    assert not wrong, f"{len(wrong)} differ: {wrong[:3]}"


@each_tokenizer
def test_ids_and_texts_are_the_librarys(name):
    folder = TOKENIZERS / name
    cases, streams = lines_of(folder / "cases.jsonl"), lines_of(folder / "stream.jsonl")

    def check(flags, question, answer, items, key, want):
        got = answers(("tokenize", folder, *flags), [{question: item[key]} for item in items])
        assert_all([(line[answer], item[want]) for line, item in zip(got, items)])

    check((), "text", "ids", cases, "text", "ids")
    check(("--special",), "text", "ids", cases, "text", "ids_special")
    skip = ("--decode", "--skip-special")
    check(("--decode",), "ids", "text", cases, "ids", "decoded")
    check(skip, "ids", "text", cases, "ids_special", "decoded_skip_special")
    check(("--decode",), "ids", "text", streams, "ids", "text")
    check(skip, "ids", "text", streams, "ids", "text_skip_special")


@each_tokenizer
def test_long_texts_are_cut_as_the_library_cuts_them(name):
    cases = lines_of(TOKENIZERS / name / "long.jsonl")
    texts = [{"text": "".join(unit * times for unit, times in case["parts"])} for case in cases]
    for got, case in zip(answers(("tokenize", TOKENIZERS / name), texts), cases):
        ids = got["ids"]
        sum_of_ids = zlib.crc32(struct.pack(f"<{len(ids)}I", *ids))
        assert (len(ids), sum_of_ids) == (case["count"], case["crc32"]), case["parts"]


def check_rendered(cases):
    got = answers(
        ("render", "--jsonl"),
        [
            {"template": c["template"], "context": c["context"], "now": c.get("now", NOW)}
            for c in cases
        ],
    )
    for answer, case in zip(got, cases):
        if "rendered" in case:
            assert answer == {"text": case["rendered"]}, case
        else:
            assert set(answer) == {"error"}, (answer, case)
            assert case["error"].get("message", "") in answer["error"]


@each_template
def test_templates_render_as_in_python(name):
    template = (TEMPLATES / name / "template.jinja").read_bytes().decode()
    cases = json.loads((TEMPLATES / name / "cases.json").read_text())
    check_rendered([{**case, "template": template} for case in cases])


@needs(TEMPLATES)
def test_expressions_are_evaluated_as_in_python():
    check_rendered(lines_of(TEMPLATES / "expressions.jsonl"))


def apply_cases():
    path = TEMPLATES / "apply.json"
    return json.loads(path.read_text()) if path.exists() else []


@pytest.mark.parametrize("case", apply_cases(), ids=lambda case: case["name"])
def test_conversations_are_prepared_as_in_python(case, tmp_path):
    shutil.copy(TOKENIZERS / "qwen2/tokenizer.json", tmp_path)
    config = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    context = {"messages": case["messages"], "tools": case["tools"], **case["kwargs"]}
    if case.get("templates"):
        named = case["templates"].items()
        config["chat_template"] = [{"name": name, "template": text} for name, text in named]
        context |= {"chat_template": case["template"]} if case["template"] else {}
    elif case["template"] is not None:
        config["chat_template"] = case["template"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "context.json").write_text(json.dumps(context))
    done = ft("render", "--model", tmp_path, "--context", tmp_path / "context.json", code=None)
    if isinstance(case.get("rendered"), list):
        assert json.loads(done.out) == case["rendered"]
    elif "rendered" in case:
        assert (done.returncode, done.out) == (0, case["rendered"]), done.err
    else:
        assert done.returncode in (1, 2) and done.out == "" and done.err
