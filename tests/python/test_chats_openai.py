"""Every reference chat of the tiny models, through `ft serve` and the official client.

FT_FULL_SWEEP=1 takes all five weight formats; otherwise one (test_tiny_model.py has another).
"""

import json
import urllib.request

import pytest

from cli import FT, FULL, SHARED, needs_ft
from conftest import Server
from joining import both_ways

FORMATS = ("bf16", "nvfp4", "nvfp4-modelopt", "mxfp4", "fp8") if FULL else ("fp8",)
FOLDERS = [SHARED / f"models/tiny-moe-{name}" for name in FORMATS]
SMALL_MARGIN = 0.01  # below it another order of additions may choose another token
MAX_TOKENS = 120

pytestmark = needs_ft


@pytest.fixture(scope="module", params=FOLDERS, ids=FORMATS)
def served(request):
    folder = request.param
    if not folder.exists():
        pytest.skip(f"{folder} is absent")
    server = Server([str(FT), "serve", "--model", str(folder), "--port", "{port}"], folder.name)
    server.chats = [
        json.loads(line) for line in (folder / "chats.jsonl").read_text().split("\n") if line
    ]
    yield server
    assert server.stop() == 0


def post(server, path, **body):
    request = urllib.request.Request(
        server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.loads(reply.read())


def request_of(chat):
    request = {"messages": chat["messages"]}
    if chat["tools"]:
        request["tools"] = chat["tools"]
    return request, {"chat_template_kwargs": {"enable_thinking": chat["enable_thinking"]}}


def as_object(arguments):
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def parsed(chat):
    message = chat["parsed"]
    calls = [call["function"] for call in message.get("tool_calls") or []]
    return (
        message.get("reasoning_content") or "",
        message.get("content") or "",
        [(call["name"], as_object(call["arguments"])) for call in calls],
    )


def test_prompts_are_the_references(served):
    for chat in served.chats:
        request, extra = request_of(chat)
        tokens = post(served, "/tokenize", **request, **extra)
        assert tokens["tokens"] == chat["prompt_ids"], chat["prompt"]
        back = post(served, "/detokenize", tokens=chat["prompt_ids"])
        assert back["prompt"] == chat["prompt"]
        plain = post(served, "/tokenize", prompt=chat["prompt"], add_special_tokens=False)
        assert plain["tokens"] == chat["prompt_ids"]


def test_replies_are_as_taught_streamed_and_not(served):
    client = served.client(timeout=120)
    wrong = []
    for chat in served.chats:
        request, extra = request_of(chat)
        reply = both_ways(
            client,
            model=served.model,
            **request,
            temperature=0,
            max_tokens=MAX_TOKENS,
            extra_body=extra,
        )
        if chat["smallest_margin"] < SMALL_MARGIN:
            continue
        tokens = (len(chat["prompt_ids"]), len(chat["reply_ids"]))
        got = (reply.usage["prompt_tokens"], reply.usage["completion_tokens"])
        if chat["as_taught"] and (reply.reasoning, reply.content, reply.calls) != parsed(chat):
            wrong.append((chat["prompt"], parsed(chat), reply))
        if got != tokens:
            wrong.append((chat["prompt"], tokens, got))
        stopped = chat["reply"].endswith("<|im_end|>")
        assert reply.finish == ("tool_calls" if reply.calls else "stop" if stopped else "length")
    assert not wrong, f"{len(wrong)}: {wrong[:2]}"


def test_the_same_prompts_as_ids_give_the_reference_replies(served):
    client = served.client(timeout=120)
    for chat in served.chats:
        if chat["smallest_margin"] < SMALL_MARGIN:
            continue
        reply = client.completions.create(
            model=served.model, prompt=chat["prompt_ids"], temperature=0, max_tokens=MAX_TOKENS
        )
        assert reply.usage.completion_tokens == len(chat["reply_ids"]), chat["prompt"]
        assert reply.choices[0].text == chat["reply"].removesuffix("<|im_end|>")


def test_thinking_is_turned_off_in_every_way(served):
    question = [{"role": "user", "content": "What is 12 + 30?"}]
    open_thought = post(served, "/tokenize", messages=question)["tokens"]
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    closed = post(served, "/tokenize", messages=question, **off)["tokens"]
    assert closed != open_thought
    client = served.client()
    for way in ({"extra_body": off}, {"reasoning_effort": "none"}):
        reply = client.chat.completions.create(
            model=served.model, messages=question, temperature=0, max_tokens=60, **way
        )
        assert reply.usage.prompt_tokens == len(closed)
        message = reply.choices[0].message
        assert message.content and not getattr(message, "reasoning_content", None)
