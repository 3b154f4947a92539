import { offeredActions } from "../app/actions";
import { MenuItem } from "../app/Menu";
import { type OneConversation, useConversationActions } from "./conversationActions";

interface Props extends OneConversation {
  close: () => void;
}

/** The actions on a whole conversation. */
export function ConversationMenu({ close, ...conversation }: Props) {
  // The list of messages is opened here where the rail has no room.
  const rail = conversation.isHere ? offeredActions().filter(({ name }) => name === "messages") : [];
  return [...rail, ...useConversationActions(conversation)].map(({ name, label, icon, run }) => (
    <MenuItem
      key={name}
      icon={icon}
      isBad={name === "delete"}
      onClick={() => {
        close();
        run();
      }}
    >
      {label}
    </MenuItem>
  ));
}
