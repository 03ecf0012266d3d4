"""The values of the operator's page and its API: structs, each one an answer of the API or the body of a request.

Times are seconds since 1970, durations float seconds, money in the owner's currency. Any text may have been written by
a stranger or a model: whoever shows it escapes it. No value holds a key.
"""
