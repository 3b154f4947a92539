import type { ReactNode } from "react";
import { Mark } from "../app/Mark";

/** Where there is nothing yet: what there could be. */
export function Empty({ title, text, children }: { title: string; text: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Mark />
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
}
