"""Admission webhooks: other processes that see a write before it is stored, and may change or refuse it."""
