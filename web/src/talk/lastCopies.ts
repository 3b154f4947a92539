// Copies the last answer or its last code, by a command of the palette.
import type { View } from "@turnwire/client";
import { useAction } from "../app/actions";
import { toClipboard } from "../app/CopyButton";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { lastAnswer, lastCode } from "./lastAnswer";

export function useCopyActions(view: View): void {
  const words = useWords();
  const { showNotice } = useNotices();
  const copy = async (text: string | undefined) => {
    if (!text) showNotice(words.nothingToCopy);
    else if (await toClipboard(text)) showNotice(words.copied, "calm");
  };
  const isOn = view.messages.length > 0;
  useAction(
    { name: "copy-answer", label: words.copyAnswer, icon: "copy", run: () => void copy(lastAnswer(view)) },
    isOn,
  );
  useAction(
    { name: "copy-code", label: words.copyCode, icon: "copy", run: () => void copy(lastCode(view)) },
    isOn,
  );
}
