"""An HTTP proxy of a test's own."""

import socket
import threading


class Proxy:
    """An HTTP proxy that only knows CONNECT."""

    def __init__(self, refuse: bool = False) -> None:
        self.connected: list[str] = []
        self.refuse = refuse
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://user:geheim@127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._tunnel, args=(connection,), daemon=True).start()

    def _tunnel(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (data := client.recv(4096)):
                return
            head += data
        target = head.split(b" ")[1].decode()
        self.connected.append(target)
        if self.refuse:
            client.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n")
            client.close()
            return
        host, _, port = target.partition(":")
        server = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=_pour, args=(source, sink), daemon=True).start()

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def _pour(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
