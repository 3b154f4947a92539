// The messages, and the conversation around them.
export const talk = {
  messages: "Messages",
  you: "You",
  /** Within a sentence, after "by". */
  byYou: "you",
  byOwner: "the owner",
  loadingOlder: "Loading older messages",
  toNewest: "Go to the newest message",
  sending: "sending",
  thinking: "Thinking",
  thought: (took: string | undefined) => (took ? `Thought for ${took}` : "Thought"),
  thoughts: "Thoughts",
  redacted: "The model's provider has hidden this text.",
  pieceMissing: "A part of this text is missing. The complete text follows.",
  interruptedBlock: "interrupted",
  apiFailed: "The model's service reported an error:",
  event: {
    compact_boundary: "Earlier messages were summarized for the model",
    model: "Model changed",
  } as Record<string, string>,
  stoppedBecause: {
    user: "Stopped",
    disconnect: "Stopped: no client was connected",
    agent: "The agent stopped by itself",
    agent_lost: "Stopped: the agent's process ended",
    server_restart: "Stopped: the server was restarted",
    server_stopped: "Stopped: the server was stopped",
    archived: "Stopped: the conversation was archived",
    deleted: "Stopped: the conversation was deleted",
  } as Record<string, string>,
  stoppedBy: (by: string) => `Stopped by ${by}`,
  killed: "the agent's process ended",
  byForce: (n: number) => (n === 1 ? "1 process ended by force" : `${n} processes ended by force`),
  couldNotEnd: (n: number) =>
    n === 1 ? "1 process could not be ended" : `${n} processes could not be ended`,
  queueAfterStop: {
    hold: "queued messages are held",
    continue: "queued messages continue",
    clear: "queued messages were removed",
  } as Record<string, string>,
  structured: "Structured output",
  turnFailed: "The turn failed.",
  failedHint: {
    INPUT_TIMEOUT: "The agent's question was not answered in time. Send a message to continue.",
    AGENT_UNAVAILABLE: "The agent could not be started. Read the server's log, then send your message again.",
    agent_lost: "The agent's process ended. Send your message again: a new process is started.",
    max_turns: "The agent reached its maximum number of steps. Tell it to continue.",
    budget_exhausted: "The budget is used up.",
    prompt_too_long: "The conversation is too long for the model. Start a new one.",
    other: "Nothing you wrote is lost. Send your message again, or write another one.",
  } as Record<string, string> & { other: string },
  tokens: (read: string, written: string) => `${read} in · ${written} out`,
  tokensTitle: "Tokens read and written",
  state: {
    offline: "Offline",
    unknown: "Connecting",
    active: "Ready",
    asleep: "Sleeping",
    streaming: "Working",
    background: "Ready · background tasks running",
    waiting_input: "Waiting for you",
    interrupted: "Stopped",
    error: "Failed",
  },
  connection: {
    connecting: "Connecting",
    catchingUp: "Catching up",
    lost: "The server cannot be reached. Retrying. Messages that you send are kept.",
    offline: "You are offline. Messages that you send are kept until the connection is back.",
    closed: "This conversation is closed.",
  },
  closedTitle: "Conversation",
  archivedTitle: "This conversation is archived",
  archivedHint: "You can read it. To write a message, take it out of the archive.",
  deletedTitle: "This conversation was deleted",
  deletedHint: "Its messages are permanently deleted.",
  goneTitle: "Conversation not found",
  goneHint: "The conversation was deleted, or it belongs to another user.",
  plan: "Plan",
  background: "In the background",
  stopTask: (about: string) => `Stop: ${about}`,
  stoppingTask: (about: string) => `Stopping: ${about}`,
  inspect: "Inspect",
  editAgain: "Edit, and send it in a new conversation",
  regenerate: "Regenerate, in a new conversation",
  quote: "Quote",
  copyLink: "Link to this message",
  find: {
    title: "Find in this conversation",
    earlier: "Earlier hit",
    later: "Later hit",
    count: (at: number, all: number) => `${at} of ${all}`,
    none: "Not found",
    searching: "Searching",
  },
  rewind: {
    open: "Restore the files to before this message",
    title: "Restore files",
    asking:
      "Asking the agent which files would change. A sleeping agent is started first, which takes a second or two.",
    would: (n: number) =>
      n === 1
        ? "This file would be restored to its content before your message:"
        : `These ${n} files would be restored to their content before your message:`,
    nothing: "There is nothing to restore: the files are as they were before your message.",
    deletes: (n: number) =>
      n === 1
        ? "This file was created after your message and would be deleted:"
        : `These ${n} files were created after your message and would be deleted:`,
    mayDelete: "Files that were created after your message are deleted.",
    deleted: "Files to be deleted",
    stays: "The messages of the conversation stay as they are.",
    busy: "The agent is working and may change the same files. Stop it, or wait until it is done.",
    now: (n: number) => (n === 1 ? "Restore 1 file" : `Restore ${n} files`),
    files: "Files",
    happened: (n: number, failed: number, by: string | undefined) => {
      const none = failed ? "No file was restored" : "No file had to be restored";
      const said = n === 1 ? "1 file was restored" : n ? `${n} files were restored` : none;
      return `${said}${by ? ` by ${by}` : ""}${failed ? `; ${failed} could not be restored` : ""}`;
    },
    failed: "Could not be restored",
  },
  announce: {
    answered: "The agent has answered",
    asks: "The agent asks a question",
    wants: "The agent asks for permission",
  },
};
