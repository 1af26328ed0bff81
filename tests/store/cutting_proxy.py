"""A door before a server that can be shut in the middle of a call."""

import select
import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Passes requests and replies on.

    cut: "" to pass everything; "request" to shut the connection instead of passing the next request on; "reply" to
    pass it on and shut the connection instead of giving back the reply. Once; cuts counts.
    """

    def __init__(self, port: int) -> None:
        self.server_port = port
        self.cut = ""
        self.cuts = 0
        self._lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection(("127.0.0.1", self.server_port)) as server:
            while True:
                for readable in select.select([client, server], [], [])[0]:
                    said = readable.recv(1 << 16)
                    if not said or self._cuts("request" if readable is client else "reply"):
                        return
                    (server if readable is client else client).sendall(said)

    def _cuts(self, where: str) -> bool:
        with self._lock:
            if self.cut != where:
                return False
            self.cut = ""
            self.cuts += 1
            return True
