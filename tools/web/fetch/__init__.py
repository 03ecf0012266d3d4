"""Fetches pages safely: judges URLs and addresses, connects only to judged ones, keeps bodies within caps."""
