"""The files of `turnwire new`: those that the tutorial explains."""
