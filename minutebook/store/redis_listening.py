"""Being woken by the server: a connection that is readable when somebody left work for a worker."""

from redis.exceptions import RedisError

from minutebook.errors import StoreUnreachable
from minutebook.store.redis_errors import translated
from minutebook.store.redis_server import Server


class Listener:
    """A subscription, for a selector: when `fileno()` is readable, `drain()` takes what was said.

    Messages may be lost with the connection: who listens looks at `data_version` from time to time as well.
    """

    def __init__(self, server: Server) -> None:
        self._url = server.url
        with translated(self._url):
            self._connection = server.new_connection()
            try:
                subscribe = self._connection.pack_commands([("SUBSCRIBE", server.channel)])
                self._connection.send_packed_command(subscribe)
                self._connection.read_response()
            except BaseException:
                self._connection.disconnect()
                raise

    def fileno(self) -> int:
        """The socket; -1 once it is closed."""
        socket = getattr(self._connection, "_sock", None)
        return -1 if socket is None else int(socket.fileno())

    def drain(self) -> int:
        """How many times the bell rang since; StoreUnreachable when the connection is lost: then listen anew."""
        count = 0
        with translated(self._url):
            try:
                while self._connection.can_read(0):
                    self._connection.read_response()
                    count += 1
            except (RedisError, OSError):
                self.close()
                raise
        if self.fileno() < 0:
            raise StoreUnreachable(f"{self._url}: the connection was lost")
        return count

    def close(self) -> None:
        self._connection.disconnect()
