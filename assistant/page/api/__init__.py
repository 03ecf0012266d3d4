"""The API: what the page shows and does, as JSON. Its description is made from the same table as its routes.

endpoints.py   every path, what it needs, takes and answers, and what does it (READ FIRST)
serving.py     makes routes of the endpoints
openapi.py     makes the OpenAPI document of the endpoints
"""
