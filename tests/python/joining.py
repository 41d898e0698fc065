"""What a client that joins the chunks of a stream ends up with, to compare with a whole reply."""

import dataclasses
import json


@dataclasses.dataclass
class Reply:
    content: str = ""
    reasoning: str = ""
    calls: list = dataclasses.field(default_factory=list)  # (name, arguments as Python objects)
    finish: str = ""
    usage: dict = None
    logprobs: int = 0


def call_of(call):
    return (call.function.name, json.loads(call.function.arguments))


def from_message(completion, index=0):
    choice = completion.choices[index]
    message = choice.message
    return Reply(
        content=message.content or "",
        reasoning=getattr(message, "reasoning_content", None) or "",
        calls=[call_of(call) for call in message.tool_calls or []],
        finish=choice.finish_reason,
        usage=completion.usage.model_dump(),
        logprobs=len(choice.logprobs.content) if choice.logprobs else 0,
    )


def from_stream(chunks):
    reply = Reply()
    finishes = []
    calls = {}
    for chunk in chunks:
        if chunk.usage is not None:
            assert chunk.choices == []
            reply.usage = chunk.usage.model_dump()
            continue
        assert not finishes, "a choice event came after the finish reason"
        choice = chunk.choices[0]
        reply.content += choice.delta.content or ""
        reply.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        for call in choice.delta.tool_calls or []:
            if call.id:
                assert call.index not in calls, "an id is given once"
                calls[call.index] = [call.function.name, ""]
            calls[call.index][1] += call.function.arguments or ""
        reply.logprobs += len(choice.logprobs.content) if choice.logprobs else 0
        if choice.finish_reason is not None:
            finishes.append(choice.finish_reason)
    assert len(finishes) == 1
    reply.finish = finishes[0]
    assert sorted(calls) == list(range(len(calls)))
    reply.calls = [(name, json.loads(text)) for name, text in calls.values()]
    return reply


def both_ways(client, **request):
    """The reply whole and joined from a stream; they must be equal."""
    whole = from_message(client.chat.completions.create(**request))
    with client.chat.completions.create(
        **request, stream=True, stream_options={"include_usage": True}
    ) as stream:
        joined = from_stream(stream)
    assert whole == joined
    return whole
