// The dialogs of a conversation, and the page of an archived one: loaded after the first view.
import { onDemand } from "../app/onDemand";

export const AgentPanel = onDemand(async () => (await import("../agent/AgentPanel")).AgentPanel);
export const Inspector = onDemand(async () => (await import("../inspect/Inspector")).Inspector);
export const Rewind = onDemand(async () => (await import("./Rewind")).Rewind);
export const Closed = onDemand(async () => (await import("./Closed")).Closed);
