import type { ReactNode } from "react";
import { Logo } from "../app/Logo";

interface Props {
  title: string;
  text: string;
  /** Whether the page has no other heading. */
  isAll?: boolean;
  children?: ReactNode;
}

/** A placeholder for a page without content. */
export function Empty({ title, text, isAll = false, children }: Props) {
  const Heading = isAll ? "h1" : "h2";
  return (
    <div className="empty">
      <Logo />
      <Heading>{title}</Heading>
      <p>{text}</p>
      {children}
    </div>
  );
}
