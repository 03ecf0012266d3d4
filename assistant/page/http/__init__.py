"""Serves the page over HTTP as a resource of twisted.web: routes, checks of each request, streams, static files."""
