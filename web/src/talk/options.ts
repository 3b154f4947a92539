/** So many entries of the log come at once; older ones as somebody scrolls. */
export const OPTIONS = { tail: 200 };
