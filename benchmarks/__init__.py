"""What design.md section 9 promises, measured beside the product's peers in one run: `python -m benchmarks`."""
