"""Cases from public reports, on checkpoints with a known reply (C05 C09 C14 C15)."""

import contextlib

import pytest

import scripted_checkpoint
from cli import FT, ft, needs_ft
from conftest import Server
from joining import both_ways, from_message
from scripted_checkpoint import START, TEMPLATE

pytestmark = needs_ft
ASK = [{"role": "user", "content": "?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


@contextlib.contextmanager
def serving(folder, pieces, *flags, **files):
    ids = scripted_checkpoint.write(folder, pieces, **files)
    server = Server([str(FT), "serve", "--model", str(folder), "--port", "{port}", *flags], "model")
    server.ids = ids
    try:
        yield server
    finally:
        server.stop()


def reply(server, **request):
    request = {"max_tokens": 30, **request}
    return both_ways(server.client(), model="model", messages=ASK, temperature=0, **request)


def test_a_model_that_never_thinks_answers_in_content(tmp_path):
    folder = tmp_path / "model"
    with serving(folder, [b"The", b" answer", b" is", b" 4.", "<|im_end|>"]) as server:
        got = reply(server)
        assert (got.content, got.reasoning, got.finish) == ("The answer is 4.", "", "stop")
    opens = TEMPLATE.replace(START, "<think>" + START)
    pieces = [b"2+2", b" is", b" 4.", "</think>", b"Four", "<|im_end|>"]
    with serving(folder, pieces, "--reasoning-parser", "qwen3", template=opens) as server:
        got = reply(server)
        assert (got.content, got.reasoning, got.finish) == ("Four", "2+2 is 4.", "stop")
        cut = reply(server, max_tokens=2)
        assert (cut.content, cut.reasoning, cut.finish) == ("", "2+2 is", "length")


def test_calls_whole_and_cut(tmp_path):
    call = [
        b"Let me see. ",
        "<tool_call>",
        b'\n{"name": "f", ',
        b'"arguments": ',
        b'{"city": "Pa',
        b'ris"}}',
        b"\n",
        "</tool_call>",
        "<|im_end|>",
    ]
    with serving(tmp_path / "model", call, "--tool-call-parser", "qwen25") as server:
        got = reply(server, tools=TOOLS)
        assert (got.calls, got.finish) == ([("f", {"city": "Paris"})], "tool_calls")
        assert got.content.strip() == "Let me see."
        cut = reply(server, tools=TOOLS, max_tokens=5)
        assert (cut.calls, cut.finish, cut.content.strip()) == ([], "length", "Let me see.")
        prose = reply(server, tools=TOOLS, max_tokens=1)
        assert (prose.content.strip(), prose.finish) == ("Let me see.", "length")


STOPS = [b"one", b" two", "<|endoftext|>", b" three", "<|im_end|>", b" four"]


@pytest.mark.parametrize(
    "eos, generation, want",
    [
        (lambda ids: ids["<|im_start|>"], lambda ids: [7, ids["<|endoftext|>"]], "one two"),
        (lambda ids: ids["<|endoftext|>"], None, "one two"),
        (lambda ids: None, None, "one two three"),
        (lambda ids: 3, lambda ids: ids["<|im_start|>"], "one two three"),
        (lambda ids: [5, ids["<|endoftext|>"]], lambda ids: None, "one two"),
    ],
    ids=["generation", "no generation", "null", "tokenizer", "list"],
)
def test_all_stop_ids_count(eos, generation, want, tmp_path):
    files = {
        "config": lambda ids: {"eos_token_id": eos(ids)},
        "generation": generation and (lambda ids: {"eos_token_id": generation(ids)}),
    }
    with serving(tmp_path / "model", STOPS, **files) as server:
        got = reply(server)
        assert (got.content, got.finish) == (want, "stop")
        on = reply(server, max_tokens=6, extra_body={"ignore_eos": True})
        assert on.finish == "length" and on.usage["completion_tokens"] == 6
        assert on.content.startswith("one two") and on.content.endswith(" four")
        shown = ft("inspect", tmp_path / "model").out
        assert str(server.ids["<|im_end|>"]) in shown


EMOJI = "\U0001f600".encode()
FLAG = "\U0001f1e9\U0001f1ea".encode()
CHINESE = "你".encode()
CHARACTERS = [
    *(b"a", EMOJI[:2], EMOJI[2:], b" ", FLAG[:3], FLAG[3:5], FLAG[5:], b"e", "\u0301".encode()),
    *("\ufe0f".encode(), CHINESE[:1], CHINESE[1:2], CHINESE[2:], b" x", b"\xff", b"!", b"\xe4\xbd"),
]


def test_characters_over_token_borders(tmp_path):
    with serving(tmp_path / "model", [*CHARACTERS, "<|im_end|>"]) as server:
        text = b"".join(CHARACTERS).decode(errors="replace")
        got = reply(server)
        assert (got.content, got.finish) == (text, "stop")
        for tokens in range(1, len(CHARACTERS)):
            cut = reply(server, max_tokens=tokens)
            assert cut.content == b"".join(CHARACTERS[:tokens]).decode(errors="replace")
        for stop in ("\U0001f600", "\u0301", "\U0001f1ea", " x"):
            stopped = reply(server, stop=stop)
            assert (stopped.content, stopped.finish) == (text[: text.index(stop)], "stop")


def test_a_whole_reply_is_what_its_chunks_are_also_without_usage(tmp_path):
    with serving(tmp_path / "model", [b"a", b"b", "<|im_end|>"]) as server:
        client = server.client()
        request = {"model": "model", "messages": ASK, "temperature": 0}
        whole = from_message(client.chat.completions.create(**request))
        chunks = list(client.chat.completions.create(**request, stream=True))
        assert all(chunk.usage is None for chunk in chunks)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole.content
