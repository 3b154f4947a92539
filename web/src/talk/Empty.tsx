import type { ReactNode } from "react";
import { Mark } from "../app/Mark";

interface Props {
  title: string;
  text: string;
  /** Whether there is no other heading on the page. */
  isAll?: boolean;
  children?: ReactNode;
}

/** Where there is nothing yet: what there could be. */
export function Empty({ title, text, isAll = false, children }: Props) {
  const Heading = isAll ? "h1" : "h2";
  return (
    <div className="empty">
      <Mark />
      <Heading>{title}</Heading>
      <p>{text}</p>
      {children}
    </div>
  );
}
