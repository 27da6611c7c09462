"""A test server for the chat and completions protocols, with faults on demand."""

from __future__ import annotations

import json
import threading
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from math import log

from tests.support.constraints import constrained

BROKEN = {
    "no choices": {"choices": []},
    "no message": {"choices": [{"index": 0, "finish_reason": "stop"}]},
    "no content": {"choices": [{"index": 0, "message": {"role": "assistant"}}]},
    "null": {"choices": [{"index": 0, "message": {"content": None}, "text": None}]},
    "error": {"error": {"message": "overloaded"}},
    "text": b"<html>busy</html>",
}
"""What the server replies instead of an answer."""


def letter_of(text, seed=None):
    """The server's answer: a function of the request, as for a greedy model."""
    digest = blake2b(f"{text}|{seed}".encode(), digest_size=2).digest()
    return "AB"[digest[0] % 2]


def next_tokens(text):
    """Twenty tokens: the letter has 0.5, nine others have 0.3 together, yes and no 0.15, other words the rest."""
    letters = {f" {letter}": log(0.5 if letter == letter_of(text) else 0.3 / 9) for letter in "ABCDEFGHIJ"}
    words = {"yes": log(0.1), "No": log(0.05), **{f"word{number}": log(0.05 / 8) for number in range(8)}}
    return {**letters, **words}


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    # The default queue is five requests. With eight at once, the sixth would be retried after a second.
    request_queue_size = 128


class Server:
    """Test server on a free local port, used as a context manager.

    Attributes:
        payloads: What it was sent, in order.
        fault: Says what goes wrong with a request, by its number from 0 and its payload: `status N`, or one of no
            choices, one missing, null, no message, no content, error, text, hang up; or a dict with what is other in
            the first choice; or a status code, a body and headers.
        scores: Whether it returns the log-probabilities of a prompt.
        honours_seeds: Whether the answer depends on the seed.
        obeys: The parameter that constrains its answers, if there is one.
        name: The model that its answers name.
    """

    def __init__(self):
        self.payloads = []
        self.fault = lambda number, payload: None
        self.scores = True
        self.honours_seeds = True
        self.obeys = ""
        self.model = self.name = "tiny"
        self._lock = threading.Lock()

    def __enter__(self):
        self._http = _Listener(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.port = self._http.server_address[1]
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Stop listening, so that new connections are refused."""
        self._http.shutdown()
        self._http.server_close()

    @property
    def chat(self):
        """Model arguments for the chat protocol."""
        return f"model={self.model},base_url=http://127.0.0.1:{self.port}/v1/chat/completions"

    @property
    def completions(self):
        """Model arguments for the completions protocol, with the server's own tokenizer."""
        return f"model={self.model},base_url=http://127.0.0.1:{self.port}/v1/completions"

    def asked(self):
        """The prompts that it received, without the test request."""
        return [text for payload in self.payloads if "Which letter comes first" not in (text := text_of(payload))]

    def take(self, payload):
        """Record a request."""
        with self._lock:
            self.payloads.append(payload)
            return len(self.payloads) - 1

    def answer(self, payload):
        """The choice of a response, in the format of the protocol."""
        if payload.get("echo"):
            return {"choices": [self._scored(index, tokens) for index, tokens in enumerate(payload["prompt"])]}
        if payload.get("logprobs"):
            return {"model": self.name, "choices": [*map(self._next, range(99), texts_of(payload), repeat(payload))]}
        seed = payload.get("seed") if self.honours_seeds else None
        said = [letter_of(text, seed) for text in texts_of(payload)]
        if self.obeys in payload:
            said = [constrained(payload, self.obeys, text) for text in texts_of(payload)]
        if "messages" in payload:
            return {"model": self.name, "choices": [{"index": 0, "message": {"role": "assistant", "content": said[0]}}]}
        return {"model": self.name, "choices": [{"index": index, "text": text} for index, text in enumerate(said)]}

    def _next(self, index, text, payload):
        """A choice with the likeliest next tokens."""
        tokens = sorted(next_tokens(text).items(), key=lambda each: -each[1])
        if "messages" not in payload:
            known = {"top_logprobs": [dict(tokens[: payload["logprobs"]])]}
        else:
            listed = [{"token": token, "logprob": score} for token, score in tokens[: payload["top_logprobs"]]]
            known = {"content": [{**listed[0], "top_logprobs": listed}]}
        said = {"text": tokens[0][0], "message": {"role": "assistant", "content": tokens[0][0]}}
        return {"index": index, "finish_reason": "length", "logprobs": known, **said}

    def _scored(self, index, tokens):
        if not self.scores:  # as llama.cpp's server: only the generated token, in another format
            return {"index": index, "text": "", "logprobs": {"content": [{"token": "x", "logprob": -1.0}]}}
        likelihoods = [None, *(-(1 + token % 7) / 2 for token in tokens[1:]), -1.0]
        top = [None if value is None else {"x": value} for value in likelihoods]
        return {"index": index, "text": "", "logprobs": {"token_logprobs": likelihoods, "top_logprobs": top}}

    def _handler(self):
        server = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1  # headers and body are sent at once

            def log_message(self, *_):
                pass

            def reply(self, status, body, headers=None):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/html" if isinstance(body, bytes) else "application/json")
                for name, value in {"Content-Length": len(data), **(headers or {})}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                if self.path == "/v1/models":
                    self.reply(200, {"data": [{"id": server.model, "created": len(server.payloads)}]})
                elif self.path == "/tokenizer_info":
                    self.reply(200, {"eos_token": "~", "bos_token": None, "pad_token": "~", "chat_template": None})
                else:
                    self.reply(404, {"error": "no such page"})

            def do_POST(self):
                payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/tokenize":
                    self.reply(200, {"tokens": list(payload["prompt"].encode())})
                    return
                fault = server.fault(server.take(payload), payload)
                if fault is None and payload.get("model") != server.model:
                    self.reply(404, {"error": {"message": f"The model {payload.get('model')!r} does not exist."}})
                elif fault is None:
                    self.reply(200, server.answer(payload))
                elif isinstance(fault, dict):
                    answer = server.answer(payload)
                    answer["choices"][0] |= fault
                    self.reply(200, answer)
                elif isinstance(fault, tuple):
                    self.reply(*fault)
                elif fault.startswith("status "):
                    self.reply(int(fault.split()[1]), {"error": {"message": "out of memory"}})
                elif fault == "one missing":  # the other choices are renumbered
                    choices = server.answer(payload)["choices"][1:]
                    self.reply(200, {"choices": [{**choice, "index": n} for n, choice in enumerate(choices)]})
                elif fault in BROKEN:
                    self.reply(200, BROKEN[fault])
                else:
                    self.connection.close()

        return Handler


def text_of(payload):
    """The prompt of a request, as one text."""
    return "\n".join(texts_of(payload))


def texts_of(payload):
    """The prompts in a request."""
    if "messages" in payload:
        return ["\n".join(turn["content"] for turn in payload["messages"])]
    prompts = payload["prompt"] if isinstance(payload["prompt"], list) else [payload["prompt"]]
    return [bytes(prompt).decode() if isinstance(prompt, list) else prompt for prompt in prompts]
