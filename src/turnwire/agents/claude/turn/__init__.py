"""One turn of the program: prompts, ordered output, interrupt receipts, failures and titles."""
