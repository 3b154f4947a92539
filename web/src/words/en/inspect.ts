// One entry of the log in its layers.
export const inspect = {
  layers: {
    title: (n: number) => `Entry ${n}`,
    none: "Empty.",
    noRaw: "This entry does not come from an event of the agent.",
    raw: "The agent's own event",
    event: "Normalized event",
    entry: "Log entry",
    frame: "Frame",
    shown: "Shown",
    loading: "Loading",
    growing: "This text is still growing. It is not in the log yet.",
    before: "Previous entry",
    after: "Next entry",
    unseen: "The conversation does not show this entry separately.",
  },
};
