"""Supervised fine-tuning of a causal language model, all weights or LoRA, under torchrun."""
