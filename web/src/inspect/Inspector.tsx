// A message in its layers: what the agent said, what became of it on the way, what is shown.
import type { MessageView, View } from "@turnwire/client";

export interface Subject {
  message: MessageView;
  blockId?: string | undefined;
}

export function Inspector(_: { id: string; view: View; subject: Subject; close: () => void }) {
  return null;
}
