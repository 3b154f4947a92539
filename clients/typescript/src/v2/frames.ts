// Reads server frames from JSON.
import { shapes, unions } from "../generated/table.js";
import type { ClientFrame, ServerFrame, UnknownFrame } from "../generated/types.js";
import { type Json, object, readFields, tagOf } from "../lenient.js";

/** A frame of a known type. */
export type KnownFrame = Exclude<ServerFrame, UnknownFrame>;

export type FrameOf<T extends KnownFrame["type"]> = Extract<KnownFrame, { type: T }>;

export type PayloadOf<T extends ClientFrame["type"]> = Extract<ClientFrame, { type: T }>["payload"];

/** Reads a frame. Keeps an unknown or invalid one whole, as `unknown`. */
export function readFrame(value: unknown): ServerFrame {
  const type = tagOf(value);
  const fields = unions.ServerFrame?.[type];
  const head = readFields(shapes.Envelope, value);
  const payload = head && readPayload(type, fields, (value as Json).payload);
  if (payload) return { type, ...head, payload } as unknown as ServerFrame;
  return { type: "unknown", originalType: type, data: value };
}

function readPayload(type: string, fields: string | undefined, value: unknown): Json | undefined {
  if (fields === "") return object(value); // not used for the view
  const read = readFields(fields, value);
  if (type !== "message.replay" || !read) return read;
  const { event } = value as Json;
  return event === undefined ? event : { ...read, event: readFrame(event) };
}
