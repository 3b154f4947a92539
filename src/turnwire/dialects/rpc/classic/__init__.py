"""The profile `classic` of RPC: the calls, answers and messages of older front ends."""
