"""The checks of `check_store`, one module for each subject."""
