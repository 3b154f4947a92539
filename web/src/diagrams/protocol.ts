// What the page and the frame that draws a diagram send to each other.

export interface Job {
  source: string;
  isDark: boolean;
  /** The time limit of the drawing. */
  milliseconds: number;
  /** The limit of the source, in characters. */
  maxLength: number;
}

export interface Picture {
  svg: string;
  width: number;
  height: number;
  /** The title that the text gives the diagram, or nothing. */
  title: string;
  /** Mermaid's name of the kind of diagram. */
  kind: string;
}

export type Problem = "unreadable" | "tooLong" | "tooMany" | "tooSlow" | "notLoaded";

export type Answer = Picture | { problem: Problem };
