"""The goals of docs/performance.md, measured beside the product's peers in one run: `python -m benchmarks`."""
