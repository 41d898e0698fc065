"""The official OpenAI client against the server in front of a scripted engine."""

import signal
import time

import openai
import pytest

from conftest import scripted_server
from joining import both_ways, from_message

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
    }
]


def ask(text):
    return [{"role": "user", "content": text}]


def test_text_thoughts_and_calls_are_the_same_streamed_and_not(scripted):
    client = scripted.client()
    reply = both_ways(client, model="scripted", messages=ask("script:hello"))
    assert (reply.content, reply.finish) == ("Hello, world!", "stop")
    reply = both_ways(client, model="scripted", messages=ask("script:think"))
    assert (reply.reasoning, reply.content) == ("two and two", "Four.")
    assert reply.usage["completion_tokens_details"]["reasoning_tokens"] == 13
    reply = both_ways(client, model="scripted", messages=ask("script:tools"), tools=TOOLS)
    assert reply.calls == [("get_weather", {"city": "Paris", "n": 2}), ("now", {})]
    assert (reply.content, reply.finish) == ("Let me look. ", "tool_calls")
    reply = both_ways(
        client, model="scripted", messages=ask("script:cut"), tools=TOOLS, max_tokens=30
    )
    assert (reply.calls, reply.content, reply.finish) == ([], "", "length")
    reply = both_ways(client, model="scripted", messages=ask("script:emoji"), logprobs=True)
    assert reply.content == "a\U0001f600 \U0001f1e9\U0001f1ea e\u0301 你好 \ufffd!\ufffd"
    assert reply.logprobs == reply.usage["completion_tokens"] - 1  # the stop token has none


def test_a_reply_can_be_sent_back_as_history(scripted):
    client = scripted.client()
    first = client.chat.completions.create(
        model="scripted", messages=ask("script:tool"), tools=TOOLS
    )
    message = first.choices[0].message
    history = [
        *ask("script:tool"),
        message.model_dump(),  # with refusal, annotations, audio, function_call: null
        {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "sunny"},
        {"role": "user", "content": [{"type": "text", "text": "thanks script:echo"}]},
    ]
    reply = client.chat.completions.create(model="scripted", messages=history, tools=TOOLS)
    assert '(get_weather{"city":"Paris","n":2})[tool]sunny[user]thanks' in (
        reply.choices[0].message.content
    )


def test_errors_arrive_as_the_clients_own_exceptions(scripted):
    client = scripted.client()

    def refused(kind, **request):
        request = {"model": "scripted", "messages": ask("x"), **request}
        with pytest.raises(kind) as caught:
            client.chat.completions.create(**request)
        return caught.value

    assert refused(openai.NotFoundError, model="other").code == "model_not_found"
    error = refused(openai.BadRequestError, temperature=3)
    assert (error.param, error.code) == ("temperature", "invalid_value")
    error = refused(openai.BadRequestError, messages=[{"role": "wizard", "content": "x"}])
    assert error.param == "messages[0].role"
    error = refused(openai.BadRequestError, extra_body={"min_q": 1})
    assert (error.param, error.code) == ("min_q", "unknown_parameter")
    error = refused(openai.BadRequestError, response_format={"type": "json_object"})
    assert error.code == "unsupported_parameter"
    error = refused(openai.BadRequestError, max_tokens=100000)
    assert error.code == "context_length_exceeded"
    error = refused(openai.BadRequestError, messages=[])
    assert error.param == "messages"
    with pytest.raises(openai.APIError, match="device lost"):
        with client.chat.completions.create(
            model="scripted", messages=ask("script:error"), stream=True
        ) as stream:
            list(stream)
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="scripted", messages=ask("script:error"))


def test_other_endpoints(scripted):
    client = scripted.client()
    model = client.models.list().data[0]
    assert (model.id, model.max_model_len) == ("scripted", 4096)
    assert client.models.retrieve("scripted").id == "scripted"
    reply = client.completions.create(model="scripted", prompt=["a", "script:think"], logprobs=1)
    assert [choice.text for choice in reply.choices] == [
        "Hello, world!",
        "<think>two and two</think>Four.",
    ]
    assert reply.choices[0].logprobs.tokens[0] == "H"
    text = "".join(
        chunk.choices[0].text
        for chunk in client.completions.create(model="scripted", prompt="x", stream=True)
    )
    assert text == "Hello, world!"
    reply = client.chat.completions.create(
        model="scripted", messages=ask("script:hello"), n=2, logprobs=True, top_logprobs=3
    )
    assert [from_message(reply, i).content for i in range(2)] == ["Hello, world!"] * 2
    assert len(reply.choices[0].logprobs.content[0].top_logprobs) == 3


def test_a_client_that_leaves_stops_its_work(scripted):
    client = scripted.client()
    before = scripted.metric("ft:clients_gone_total")
    stream = client.chat.completions.create(
        model="scripted", messages=ask("script:hold"), stream=True
    )
    next(iter(stream))
    stream.close()
    assert scripted.wait_for_metric("ft:clients_gone_total", before + 1)
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.2).chat.completions.create(
            model="scripted", messages=ask("script:silent")
        )
    assert scripted.wait_for_metric("ft:clients_gone_total", before + 2)
    assert scripted.metric("ft:num_requests_running") == 0


def test_the_key_is_asked_for():
    server = scripted_server("sesame")
    try:
        with pytest.raises(openai.AuthenticationError):
            server.client().models.list()
        assert server.client(api_key="sesame").models.list().data[0].id == "scripted"
        assert not any("sesame" in line for line in server.lines)
    finally:
        server.stop()


def test_sigterm_lets_a_stream_finish(own_scripted):
    stream = own_scripted.client().chat.completions.create(
        model="scripted", messages=ask("script:slow"), stream=True
    )
    chunks = [next(iter(stream))]
    own_scripted.process.send_signal(signal.SIGTERM)
    chunks += list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == "one two three four five"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert own_scripted.process.wait(timeout=20) == 0


def test_a_second_signal_ends_at_once(own_scripted):
    stream = own_scripted.client().chat.completions.create(
        model="scripted", messages=ask("script:hold"), stream=True
    )
    next(iter(stream))
    own_scripted.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 20
    while not any("Ctrl-C" in line for line in own_scripted.lines):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert own_scripted.process.poll() is None
    own_scripted.process.send_signal(signal.SIGINT)
    assert own_scripted.process.wait(timeout=20) == 130
