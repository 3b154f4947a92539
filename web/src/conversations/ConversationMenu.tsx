import { MenuItem } from "../app/Menu";
import { type OneConversation, useConversationActions } from "./conversationActions";

interface Props extends OneConversation {
  close: () => void;
}

/** The actions on a whole conversation. */
export function ConversationMenu({ close, ...conversation }: Props) {
  return useConversationActions(conversation).map(({ name, label, icon, run }) => (
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
