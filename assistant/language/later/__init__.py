"""Grammar of what is to be done later: times, wishes, chores. English. Pure."""
