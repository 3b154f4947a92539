// Frames of the server, read from JSON.
import { envelope, frames } from "../generated/table.js";
import type { ClientFrame, ServerFrame, UnknownFrame } from "../generated/types.js";
import { isObject, type Json, MISFIT, readerOf, readShape } from "../lenient.js";

/** A frame of a known type. */
export type KnownFrame = Exclude<ServerFrame, UnknownFrame>;

export type FrameOf<T extends KnownFrame["type"]> = Extract<KnownFrame, { type: T }>;

export type PayloadOf<T extends ClientFrame["type"]> = Extract<ClientFrame, { type: T }>["payload"];

const readEnvelope = readerOf<Json>(envelope);
const readReplay = readerOf<Json>({ message_sequence: "integer|null" });

/** Reads a frame. One of an unknown type, or one that cannot be read, is kept whole as `unknown`. */
export function readFrame(value: unknown): ServerFrame {
  const type = isObject(value) && typeof value.type === "string" ? value.type : "";
  const shape = frames[type];
  if (shape !== undefined && isObject(value)) {
    const head = readEnvelope(value);
    const payload = payloadOf(shape, value.payload);
    if (head !== MISFIT && payload !== MISFIT) return { type, ...head, payload } as unknown as ServerFrame;
  }
  return { type: "unknown", originalType: type, data: value };
}

function payloadOf(shape: string, value: unknown): unknown {
  if (shape === "") return isObject(value) ? value : MISFIT; // no view is made of it
  return shape === "Replay" ? replay(value) : readShape<Json>(shape, value);
}

function replay(value: unknown): Json | typeof MISFIT {
  const read = readReplay(value);
  if (read === MISFIT || !isObject(value) || !("event" in value)) return MISFIT;
  return { ...read, event: readFrame(value.event) };
}
