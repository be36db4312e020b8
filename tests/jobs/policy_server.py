"""Somebody's admission webhook: a server on loopback with TLS that the API server asks."""

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.rig.certificates import Authority
from tests.stack import Json

Answer = Callable[[int], Json]


@contextmanager
def questions_of_the_api_server(folder: Path, answer: Answer | None) -> Iterator[tuple[Json, list[Json]]]:
    """Serve for a block; gives the `clientConfig` that names the server, and the list of what it was asked so far, dry runs too.

    answer: makes the response from the number of the question. Without it a question is taken and nothing ever comes back.
    """
    asked: list[Json] = []
    over = threading.Event()
    authority = Authority(folder / "policy")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.issue("policy", "policy", ("127.0.0.1",)))
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(asked, over, answer)) as server:
        # The handshake belongs to the thread of its connection.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        bundle = base64.b64encode(authority.pem).decode()
        try:
            yield {"url": f"https://127.0.0.1:{server.server_port}/judge", "caBundle": bundle}, asked
        finally:
            over.set()
            server.shutdown()
            serving.join()


def _handler(asked: list[Json], over: threading.Event, answer: Answer | None) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(review["request"])
            if answer is None:
                over.wait()
                return
            response = {**answer(len(asked)), "uid": review["request"]["uid"]}
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    return Handler
