// The places of failed turns among the messages.
import type { TurnView, View } from "@turnwire/client";

/**
 * Returns the failed turns by the number of messages above their end. Leaves out a turn that ended
 * before the first loaded message.
 */
export function failuresIn({ messages, turns }: Pick<View, "messages" | "turns">): Map<number, TurnView[]> {
  const places = new Map<number, TurnView[]>();
  const failed = turns.filter(({ end }) => end.error);
  const endOf = ({ turn_id, end }: TurnView) =>
    end.after_sequence ?? messages.filter((each) => each.turn_id === turn_id).at(-1)?.sequence ?? 0;
  let next = 0;
  for (let at = 0; at <= messages.length; at += 1) {
    const number = messages[at]?.sequence ?? Number.POSITIVE_INFINITY; // none: it still grows
    for (let turn = failed[next]; turn && endOf(turn) < number; turn = failed[next]) {
      if (at > 0) places.set(at, [...(places.get(at) ?? []), turn]);
      next += 1;
    }
  }
  return places;
}
