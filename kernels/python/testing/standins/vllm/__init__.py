"""Stands in for vLLM where it cannot be had: the same signatures, computed in
torch by the rules of docs/contracts.md."""

__version__ = "stand-in"
