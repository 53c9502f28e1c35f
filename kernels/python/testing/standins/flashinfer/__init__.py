"""Stands in for FlashInfer where it cannot be had: the same signatures,
computed in torch by the rules of docs/contracts.md, in blocks of 64 keys."""

__version__ = "stand-in"
