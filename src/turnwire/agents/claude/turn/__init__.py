"""One turn of the program: prompts, ordered output, stop receipts, failures and titles."""
