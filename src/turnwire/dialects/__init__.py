"""The languages spoken at the edges, a folder each; all of it pure translation."""
