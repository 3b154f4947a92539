/**
 * Milliseconds before each status request for an MCP server that is connecting. They grow, because
 * the audit trail records each request. Their sum exceeds the connection timeout of agents.
 */
export const POLLING_DELAYS = [1_500, 3_000, 6_000, 12_000, ...Array<number>(6).fill(15_000)];
