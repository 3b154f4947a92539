"""The UI message stream of the AI SDK (npm `ai` 5, 6 and 7), for front ends with `useChat`."""
