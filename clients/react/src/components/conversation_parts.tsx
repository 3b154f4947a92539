// The parts of a conversation, for a page that arranges them itself.
import type { ConversationOptions, OpenRequest } from "@turnwire/client";
import {
  type ComponentPropsWithoutRef,
  createContext,
  Fragment,
  type ReactElement,
  type ReactNode,
  useContext,
  useMemo,
} from "react";
import type { OnRefused } from "../headless/action.js";
import { usePermissions } from "../headless/permissions.js";
import { type UsedConversation, useConversation } from "../hooks.js";
import { OpenFormsContext, useOpenForms } from "./open_forms.js";
import { useWords } from "./words.js";

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
  const forms = useOpenForms();
  return (
    <Context.Provider value={current}>
      <OpenFormsContext.Provider value={forms}>{children}</OpenFormsContext.Provider>
    </Context.Provider>
  );
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

export interface AllPermissionsProps extends Omit<ComponentPropsWithoutRef<"div">, "children"> {
  onRefused?: OnRefused | undefined;
}

/**
 * Buttons that decide all open permissions of the conversation at once; nothing, if fewer than two
 * are open. Show each of them as well: a person decides what is in sight. While the form of one is
 * open, the buttons wait: they would skip what the person writes.
 */
export function AllPermissions({ onRefused, ...div }: AllPermissionsProps): ReactNode {
  const words = useWords();
  const { view, decide } = useCurrentConversation();
  const { count, isReady, refusal, decideAll } = usePermissions(
    view.status?.requests ?? [],
    decide,
    onRefused,
  );
  const isWriting = (useContext(OpenFormsContext)?.count ?? 0) > 0;
  const button = { disabled: !isReady || isWriting, title: isWriting ? words.closeForm : undefined };
  return (
    <>
      {count > 1 && (
        <div data-turnwire="choices" {...div}>
          <button type="button" {...button} onClick={() => decideAll("allow")}>
            {words.allowAll(count)}
          </button>
          <button type="button" {...button} onClick={() => decideAll("deny")}>
            {words.denyAll(count)}
          </button>
        </div>
      )}
      {!onRefused && count > 0 && refusal && <p role="alert">{refusal}</p>}
    </>
  );
}
