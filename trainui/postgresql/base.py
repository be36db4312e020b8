"""The backend: a pool that is whole again at once after its server was away, and text with NUL."""

from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg_pool import ConnectionPool

from trainui.postgresql.text import replace_nul

replace_nul()


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of the pool, looked at before it is used."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that works. Raises OperationalError when the server is away or the pool is empty.

        The pool's own check looks at one connection after the other with growing pauses, for minutes when the server ended them all; here
        the first that is found dead ends those that wait with it.
        """
        connection = super().get_new_connection(conn_params)
        if self.pool is None:
            return connection
        try:
            ConnectionPool.check_connection(connection)
        except OperationalError:
            self.pool.putconn(connection)
            self.pool.drain()
            connection = super().get_new_connection(conn_params)
        return connection
