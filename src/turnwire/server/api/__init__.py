"""The HTTP interface: its routes, requests and responses, and the files of the page."""
