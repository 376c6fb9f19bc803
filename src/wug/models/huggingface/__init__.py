"""Hugging Face models: loading, devices, quantization, adapters and load-time self-tests."""
