"""The cluster as seen by trainui: kinds, client, reflector. Only this package imports `kubernetes`; it imports no Django."""
