"""Plays the cases of conformance/lifecycle.json against a running instance of trainui."""
