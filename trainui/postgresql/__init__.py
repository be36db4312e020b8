"""Django's backend for PostgreSQL, with what a service needs beyond it."""
