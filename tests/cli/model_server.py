"""A model server on this machine that speaks Chat Completions and streams a script in small pieces.

The response to a conversation with n assistant messages is the one at index n, so a resume continues
at the right response.
"""

import http.server
import json
import threading


class ModelServer:
    """Serves until it is closed. Waits for `pause` before each piece: an event, not a sleep.

    A response with a `status` is sent as that HTTP error."""

    def __init__(self, responses: list, pause: float = 0.0):
        self.bought = [0] * len(responses)
        self.requests: list[dict] = []  # Their bodies.
        self.keys = set()  # As sent.
        self._closing = threading.Event()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802: the name is the base class's.
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                index = sum(message["role"] == "assistant" for message in body["messages"])
                owner.bought[index] += 1
                owner.requests.append(body)
                owner.keys.add(self.headers["Authorization"])
                if "status" in responses[index]:
                    return self.send_error(responses[index]["status"])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for piece in pieces_of(responses[index]):
                        owner._closing.wait(pause)
                        self.wfile.write(b"data: " + piece.encode() + b"\n\n")
                        self.wfile.flush()
                except (BrokenPipeError, ConnectionResetError):
                    pass  # The client is dead.
                self.close_connection = True

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()


def pieces_of(response: dict):
    def chunk(delta: dict, **more) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": None} | more
        return json.dumps({"id": "r", "model": "scripted", "choices": [choice]})

    for word in response.get("text", "").split(" "):
        if word:
            yield chunk({"role": "assistant", "content": word + " "})
    for number, call in enumerate(response.get("calls", [])):
        function = {"name": call["name"], "arguments": json.dumps(call["args"])}
        yield chunk({"tool_calls": [{"index": number, "id": f"c{number}", "type": "function", "function": function}]})
    yield chunk({}, finish_reason="tool_calls" if response.get("calls") else "stop")
    usage = {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": 100}
    yield json.dumps({"id": "r", "model": "scripted", "choices": [], "usage": usage})
    yield "[DONE]"
