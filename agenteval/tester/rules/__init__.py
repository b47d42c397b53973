"""The offline model: answers each role by rules, without a network. See `model`."""
