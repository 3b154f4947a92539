"""The HTTP interface: routes, requests and responses, errors, and the files of the page."""
