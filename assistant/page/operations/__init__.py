"""What the page and its API read and do, by the verbs of `assistant.service.operations`."""
