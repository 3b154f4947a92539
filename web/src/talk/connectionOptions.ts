/** The number of entries to load at first; scrolling loads older ones. */
export const OPTIONS = { tail: 200 };
