"""Agents under test, by address. Only `pipeline`, `commands`, `cli` and notebooks open them."""
