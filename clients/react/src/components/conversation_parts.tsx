// The parts of a conversation, for a page that arranges them itself.
import type { ConversationOptions, OpenRequest } from "@turnwire/client";
import { createContext, Fragment, type ReactElement, type ReactNode, useContext, useMemo } from "react";
import { type UsedConversation, useConversation } from "../hooks.js";

/** The conversation of a page, with its id. */
export type CurrentConversation = UsedConversation & { readonly id: string };

const Context = /* @__PURE__ */ createContext<CurrentConversation | undefined>(undefined);

/** Returns the conversation of the nearest ConversationRoot. */
export function useCurrentConversation(): CurrentConversation {
  const current = useContext(Context);
  if (!current) throw new Error("There is no conversation: put <ConversationRoot id={...}> around it.");
  return current;
}

export interface ConversationRootProps {
  id: string;
  /** The first ones of a conversation count. */
  options?: ConversationOptions | undefined;
  children?: ReactNode;
}

/** Connects to a conversation, and provides it for everything below. It adds no element. */
export function ConversationRoot({ id, options, children }: ConversationRootProps): ReactElement {
  const used = useConversation(id, options);
  const current = useMemo(() => ({ ...used, id }), [used, id]);
  return <Context.Provider value={current}>{children}</Context.Provider>;
}

export interface ConversationRequestsProps {
  /** The maximum number of requests that are shown together; absent: all of them. */
  most?: number;
  children: (request: OpenRequest, place: number) => ReactNode;
}

/** The open requests of the conversation, the oldest first. */
export function ConversationRequests({ most, children }: ConversationRequestsProps): ReactNode {
  const { view } = useCurrentConversation();
  return view.status?.requests
    .slice(0, most)
    .map((request, place) => <Fragment key={request.request_id}>{children(request, place)}</Fragment>);
}
