"""The official OpenAI client against `ft serve` on the bundled tiny model."""

import json
import pathlib

import pytest

from joining import both_ways, from_stream

CHATS = pathlib.Path(__file__).resolve().parents[2] / "examples/models/tiny-moe-nvfp4/chats.jsonl"
SMALL_MARGIN = 0.05  # below it another order of additions may choose another token


def chats():
    if not CHATS.exists():
        return []
    lines = [json.loads(line) for line in CHATS.read_text().splitlines() if line]
    return [
        line for line in lines if line["as_taught"] and line.get("smallest_margin", 1) >= SMALL_MARGIN
    ]


@pytest.mark.skipif(not CHATS.exists(), reason=f"{CHATS} is absent")
def test_chats_are_as_taught_streamed_and_not(tiny):
    client = tiny.client(timeout=120)
    wrong = []
    for chat in chats():
        reply = both_ways(
            client,
            model=tiny.model,
            messages=chat["messages"],
            **({"tools": chat["tools"]} if chat.get("tools") else {}),
            temperature=0,
            max_tokens=120,
            extra_body={"chat_template_kwargs": {"enable_thinking": chat["enable_thinking"]}},
        )
        parsed = chat["parsed"]
        want = (
            parsed.get("reasoning_content") or "",
            parsed.get("content") or "",
            [
                (call["function"]["name"], as_object(call["function"]["arguments"]))
                for call in parsed.get("tool_calls") or []
            ],
        )
        if (reply.reasoning, reply.content, reply.calls) != want:
            wrong.append((chat["messages"][-1], want, reply))
    assert not wrong, f"{len(wrong)} of {len(chats())}: {wrong[:3]}"


def as_object(arguments):
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def test_eight_at_once_get_what_one_gets_alone(tiny):
    client = tiny.client(timeout=120)
    request = {
        "model": tiny.model,
        "messages": [{"role": "user", "content": "What is 12 + 30?"}],
        "temperature": 0,
        "max_tokens": 60,
    }
    alone = from_stream(client.chat.completions.create(**request, stream=True))
    streams = [client.chat.completions.create(**request, stream=True) for _ in range(8)]
    assert [from_stream(stream) for stream in streams] == [alone] * 8


def test_the_window_is_the_one_that_is_shown(tiny):
    client = tiny.client()
    window = client.models.list().data[0].max_model_len
    ids = [10] * (window - 1)
    reply = client.completions.create(model=tiny.model, prompt=ids, max_tokens=1)
    assert reply.usage.total_tokens == window
    with pytest.raises(Exception, match=str(window)) as caught:
        client.completions.create(model=tiny.model, prompt=[*ids, 10], max_tokens=1)
    assert caught.value.code == "context_length_exceeded"
