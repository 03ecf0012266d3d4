"""The dialects of chat APIs as servers speak them. Read `dialect.py` first. To add one, add a package here."""
