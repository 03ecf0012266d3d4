"""The API: what the page shows and does, as JSON. Its description is made from the same table as its routes.

endpoints.py   every path, what it needs, takes and answers, and what does it (READ FIRST)
openapi.py     makes routes of the endpoints, and the OpenAPI document of them
"""
