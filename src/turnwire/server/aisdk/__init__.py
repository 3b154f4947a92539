"""Front ends of the AI SDK: `useChat` and other readers of a UI message stream."""
