// The dialog with the remembered permission rules of one conversation.
import { Dialog } from "../app/Dialog";
import { useWords } from "../app/language";
import { RuleList } from "../requests/RuleList";
import { useInfo } from "./conversationList";
import { nameOf, useOriginal } from "./forks";

export default function Rules({ id, close }: { id: string; close: () => void }) {
  const words = useWords();
  const info = useInfo(id);
  const name = nameOf(info?.title, info, useOriginal(info), words);
  return (
    <Dialog label={words.givenRules.titleOf(name)} close={close}>
      {() => <RuleList id={id} />}
    </Dialog>
  );
}
