"""What is drawn on the terminal."""
