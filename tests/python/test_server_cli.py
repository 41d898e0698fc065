"""What the command line promises of `ft serve` and others: exit codes, settings, lifetime."""

import concurrent.futures
import json
import os
import shutil
import signal
import socket
import struct
import time

import openai
import pytest

from cli import FT, SHARED, ft, needs, needs_ft
from conftest import ROOT, Server

TINY = ROOT / "examples/models/tiny-moe-nvfp4"
SHARDED = SHARED / "golden/models/qwen3_moe-nvfp4-ct"
OTHER_FAMILY = SHARED / "golden/models/deepseek_v3-yarn"
AS_REPORTED = (
    "--max-seq-len-override 262144 --kv-reserve-tokens 262144 --moe-backend offload "
    "--moe-cache-auto --nvfp4-backend triton --max-running-requests 1 --max-prefill-length 8192 "
    "--sampling-defaults model --reasoning-parser qwen3 --tool-call-parser qwen3_coder --device sim"
)
SUM = [{"role": "user", "content": "What is 12 + 30?"}]

pytestmark = [needs_ft, needs(TINY)]


@pytest.fixture
def serve():
    servers = []

    def start(*flags, model=TINY):
        command = [str(FT), "serve", "--model", str(model), "--port", "{port}", *flags]
        servers.append(Server(command, TINY.name))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def answer(server, **request):
    request = {"messages": SUM, "temperature": 0, "max_tokens": 60, **request}
    made = server.client().chat.completions.create(model=server.model, **request)
    return made.choices[0].model_dump_json()


def test_the_reported_command_runs_as_written(serve):
    server = serve(*AS_REPORTED.split())
    assert "12 + 30 = 42." in answer(server)
    assert server.client().models.list().data[0].max_model_len == 262144
    said = [line for line in server.lines if "never trained" in line]
    assert len(said) == 1 and "4096" in said[0]


def test_a_prompt_larger_than_the_pool_is_refused_at_once(serve):
    server = serve("--num-tokens", "512")
    client = server.client()
    assert client.models.list().data[0].max_model_len == 512
    assert any("window 512" in line for line in server.lines)

    def complete(num_tokens, max_tokens):
        return client.completions.create(
            model=server.model, prompt=[10] * num_tokens, max_tokens=max_tokens
        )

    assert complete(511, 1).usage.total_tokens == 512
    for prompt, output in ((512, 1), (600, 16), (511, 2)):
        with pytest.raises(openai.BadRequestError) as caught:
            complete(prompt, output)
        assert caught.value.code == "context_length_exceeded"
        assert "512" in str(caught.value) and str(prompt + output) in str(caught.value)
    with pytest.raises(openai.BadRequestError) as caught:
        answer(server, messages=[{"role": "user", "content": "word " * 600}])
    assert caught.value.code == "context_length_exceeded"
    assert "42" in answer(server)


def test_deterministic_gives_eight_at_once_what_each_gets_alone(serve):
    questions = [[{"role": "user", "content": f"What is {7 * i} + {9 + i}?"}] for i in range(8)]
    server = serve(
        *("--deterministic", "--max-running-requests", "8", "--max-prefill-length", "7"),
        *("--moe-backend", "offload", "--moe-cache-size", "5"),
    )

    def ask(question):
        return answer(server, messages=question, max_tokens=24, logprobs=True, top_logprobs=4)

    alone = [ask(question) for question in questions]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, questions)) == alone
    plain = serve("--deterministic", "--moe-backend", "resident", "--page-size", "64")
    assert (
        answer(plain, messages=questions[3], max_tokens=24, logprobs=True, top_logprobs=4)
        == alone[3]
    )


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_stops_its_work(serve, stream):
    server = serve()
    body = json.dumps({"prompt": "To be", "max_tokens": 4000, "ignore_eos": True, "stream": stream})
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        head = (
            "POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall((head + body).encode())
        assert server.wait_for_metric("ft:num_requests_running", 1)
    assert server.wait_for_metric("ft:num_requests_running", 0)
    assert server.metric("ft:generation_tokens_total") < 3900
    assert "42" in answer(server)


def test_sigterm_lets_streams_finish_and_takes_nothing_new(serve):
    server = serve()
    pieces = server.client().completions.create(
        model=server.model,
        prompt="To be",
        max_tokens=300,
        temperature=0,
        stream=True,
        extra_body={"ignore_eos": True},
    )
    next(pieces)
    server.process.send_signal(signal.SIGTERM)
    end = time.monotonic() + 20
    while "draining" not in server.get("/health") and time.monotonic() < end:
        pass
    with pytest.raises(openai.InternalServerError):
        answer(server)
    *_, last = pieces
    assert last.choices[0].finish_reason == "length"
    assert server.process.wait(timeout=30) == 0


def test_a_second_signal_ends_at_once(serve):
    server = serve()
    stream = server.client().completions.create(
        model=server.model, prompt="To be", stream=True, extra_body={"ignore_eos": True}
    )
    next(stream)
    server.process.send_signal(signal.SIGTERM)
    while "draining" not in server.get("/health"):
        pass
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=10) is not None
    stream.close()


def test_a_taken_port_is_refused_before_weights_load():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ft("serve", "--model", TINY, "--port", port, code=1)
    assert str(port) in done.err and "taken" in done.err


REFUSED = [
    (2, "serve --nosuch"),
    (2, "serve"),
    (2, "nosuch"),
    (3, "serve /nonexistent"),
    (3, "serve org/not-in-the-cache"),
    (2, "serve TINY --port 99999"),
    (2, "serve TINY --page-size 0"),
    (2, "serve TINY --moe-cache-size 0"),
    (2, "serve TINY --moe-cache-size 3 --moe-cache-rate 0.5"),
    (2, "serve TINY --max-running-requests x"),
    (2, "serve TINY --host 0.0.0.0"),
    (3, "serve TINY --moe-backend hybrid"),
    (3, "serve TINY --nvfp4-backend nosuch"),
    (3, "serve TINY --reasoning-parser nosuch"),
    (3, "serve TINY --tool-call-parser nosuch"),
    (3, "serve TINY --plugin nosuch"),
    (3, "serve TINY --plugin /nonexistent/x.so"),
    (3, "serve TINY --config /nonexistent.yaml"),
    (1, "serve TINY --device cuda"),
    (3, "inspect /nonexistent"),
    (2, "eval logits --model TINY --ids 1,x --out /dev/null"),
    (2, "eval logits --model TINY --ids 1,99999 --out /dev/null"),
    (2, "eval logits --model TINY"),
    (3, "eval perplexity --model TINY --text /nonexistent"),
    (3, "tokenize /nonexistent"),
    (2, "tokenize TINY --skip-special"),
    (2, "render"),
    (3, "render --model TINY --context /nonexistent"),
    (2, "completion tcsh"),
    (1, "chat --server http://127.0.0.1:9 --prompt x"),
]


@pytest.mark.parametrize("code, line", REFUSED, ids=[line for _, line in REFUSED])
def test_refusals_have_their_exit_code_and_one_message(code, line):
    done = ft(
        *(str(TINY) if word == "TINY" else word for word in line.split()), code=code, stdin=b""
    )
    said = [text for text in done.err.splitlines() if text.startswith("ft: ")]
    assert len(said) == 1 and not done.out


def shards(folder):
    return sorted(folder.glob("model-*.safetensors"))


def cut(folder):
    data = shards(folder)[1].read_bytes()
    shards(folder)[1].write_bytes(data[:-100])


def rename(folder, mapping=lambda name: "model.safetensors" + name[5:]):
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    for path in shards(folder):
        path.rename(folder / mapping(path.name))
    index["weight_map"] = {name: mapping(file) for name, file in index["weight_map"].items()}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def ghost(folder):
    path = folder / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["model.ghost"] = shards(folder)[1].name
    path.write_text(json.dumps(index))


def long_header(folder):
    data = shards(folder)[1].read_bytes()
    shards(folder)[1].write_bytes(struct.pack("<Q", 1 << 40) + data[8:])


def gguf(folder):
    for path in folder.iterdir():
        path.unlink()
    (folder / "model.gguf").write_bytes(b"GGUF" + bytes(60))


DAMAGES = {
    "a shard is missing": (lambda folder: shards(folder)[1].unlink(), "model-00002-of-00003"),
    "a shard is cut": (cut, "100 bytes"),
    "a tensor is in no shard": (ghost, "model.ghost"),
    "an empty folder": (lambda folder: [p.unlink() for p in folder.iterdir()], "config.json"),
    "a header longer than its file": (long_header, str(1 << 40)),
    "a GGUF file": (gguf, "GGUF"),
    "a broken config": (lambda folder: (folder / "config.json").write_text("{"), "config.json"),
}


@needs(SHARDED)
@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_checkpoints_are_refused_by_name(name, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(SHARDED, folder)
    damage, said = DAMAGES[name]
    damage(folder)
    for command in (("inspect", folder), ("serve", folder, "--port", 0)):
        assert said in ft(*command, code=2).err


@needs(SHARDED)
def test_shards_of_any_name_load_when_the_index_says_so(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(SHARDED, folder)
    rename(folder)
    ft("inspect", folder)
    ft("eval", "logits", "--model", folder, "--ids", "1,2,3", "--out", tmp_path / "out")


@needs(OTHER_FAMILY)
def test_inspect_says_what_can_be_served():
    assert json.loads(ft("inspect", TINY, "--json").out)["servable"] is True
    done = ft("inspect", OTHER_FAMILY, "--json", code=1)
    assert json.loads(done.out)["servable"] is False and "DeepseekV3" in done.err


def test_settings_come_from_flag_environment_file_and_default(tmp_path):
    (tmp_path / "ft.yaml").write_text(
        "port: 1\npage_size: 2\nmax_running_requests: 3\napi_key: hidden\n"
    )
    env = {"FT_CONFIG": str(tmp_path / "ft.yaml"), "FT_PORT": "10", "FT_PAGE_SIZE": "20"}
    text = ft("config", "show", "--port", "100", env=env).out
    shown = {line.split()[0]: line.split(None, 2)[1:] for line in text.splitlines()}
    assert shown["port"] == ["100", "flag --port"]
    assert shown["page-size"] == ["20", "environment FT_PAGE_SIZE"]
    assert shown["max-running-requests"][0] == "3" and shown["max-running-requests"][1].endswith(
        "ft.yaml:3"
    )
    assert shown["num-pages"][1] == "default"
    assert "hidden" not in text
    for wrong in ("nosuch: 1\n", "port: 1\nport: 2\n", "port: [\n", "page_size: 0\n"):
        (tmp_path / "ft.yaml").write_text(wrong)
        assert "ft.yaml" in ft("config", "show", env={"FT_CONFIG": env["FT_CONFIG"]}, code=2).err


def test_a_hub_id_is_found_in_the_local_cache(serve, tmp_path):
    folder = tmp_path / "models--org--tiny"
    shutil.copytree(TINY, folder / "snapshots/0123abc")
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("0123abc")
    os.environ["HF_HUB_CACHE"] = str(tmp_path)
    try:
        server = serve(model="org/tiny")
        assert server.client().models.list().data[0].id == "org/tiny"
    finally:
        del os.environ["HF_HUB_CACHE"]


def test_chat_answers_a_prompt_with_and_without_a_server(serve):
    prompt = ("--prompt", "What is 12 + 30?", "--temperature", "0")
    assert "12 + 30 = 42." in ft("chat", "--model", TINY, *prompt).out
    assert "12 + 30 = 42." in ft("chat", "--server", serve().url, *prompt).out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell):
    text = ft("completion", shell).out
    for word in ("serve", "inspect", "tokenize", "moe-cache-size"):
        assert word in text


def test_a_key_is_asked_for_and_never_shown(serve):
    server = serve("--api-key", "very-secret")
    with pytest.raises(openai.AuthenticationError):
        server.client().models.list()
    client = server.client(api_key="very-secret")
    assert client.models.list().data
    config = client.with_options().get("/config", cast_to=object)
    assert "very-secret" not in json.dumps(config) + "".join(server.lines)
