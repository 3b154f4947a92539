"""Works with the other nodes: follows what they run, and passes commands on to them."""
