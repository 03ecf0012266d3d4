"""The operator's page and its API: who thinks, what about, what it costs, what waits, and how to stop it.

`values` are what is shown, `ports` what a world gives, `operations` what is read and done.
`http` serves it, `views` are the pages, `api` the same as JSON, `live` the stream of what happens.
"""
