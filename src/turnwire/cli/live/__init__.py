"""A turn on the screen: what is drawn, what is asked, and how it is stopped."""
