"""A real HTTP server on loopback that answers `/embeddings` as a script tells it to."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def vector_of(text, dimension=4):
    """Not normalized, so that the client has something to do."""
    return [float(len(text) + 1), float(sum(map(ord, text)) % 17), 1.0, 2.0][:dimension]


def good(request):
    data = [{"index": at, "embedding": vector_of(text)} for at, text in enumerate(request["input"])]
    return 200, {"data": data, "usage": {"prompt_tokens": 10 * len(data)}}, {}


class Script:
    """Answers by a function of (request body, number of the request); notes what came."""

    def __init__(self, answer):
        self.answer = answer
        self.requests = []
        self.running = self.most_running = 0
        self.lock = threading.Lock()
        self.release = threading.Event()


@contextlib.contextmanager
def serving(answer):
    """Run the server; gives its base URL and the script."""
    script = Script(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with script.lock:
                number = len(script.requests)
                script.requests.append((self.path, dict(self.headers), body))
                script.running += 1
                script.most_running = max(script.most_running, script.running)
            try:
                status, answer, headers = script.answer(body, number)
            finally:
                with script.lock:
                    script.running -= 1
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            # The client may have given up on a slow answer.
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # clients that hang up are part of the tests
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", script
    finally:
        script.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
