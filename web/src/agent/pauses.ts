/**
 * Milliseconds before each time that an MCP server which connects is asked for again. They grow: each time is in
 * the audit trail. Together they are longer than agents let a server connect.
 */
export const PAUSES = [1_500, 3_000, 6_000, 12_000, ...Array<number>(6).fill(15_000)];
