"""AG-UI 1.0 (npm `@ag-ui/core`), for front ends with `HttpAgent` and everything built on it."""
