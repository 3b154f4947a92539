// One interface for both reducers.
import { readRpcMessage, Transcript } from "../src/rpc/transcript.js";
import { readFrame } from "../src/v2/frames.js";
import { ViewReducer } from "../src/v2/reducer.js";

export interface Fold {
  apply(frame: unknown): void;
  view(): unknown;
}

/** Returns a reducer for the frames in fixtures/reducer; those of RPC are `{data, sequence?, turn_id?}`. */
export function foldOf(dialect: "v2" | "rpc"): Fold {
  if (dialect === "v2") {
    const reducer = new ViewReducer();
    return { apply: (frame) => reducer.apply(readFrame(frame)), view: () => reducer.view() };
  }
  const transcript = new Transcript();
  return {
    apply: (frame) => {
      const { data, sequence, turn_id } = frame as { data: unknown; sequence?: number; turn_id?: number };
      transcript.apply(readRpcMessage(data), sequence, turn_id);
    },
    view: () => transcript.view(),
  };
}
