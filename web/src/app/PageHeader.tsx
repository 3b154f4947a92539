import type { ReactNode } from "react";
import { VisibleText } from "../markdown/VisibleText";
import { Icon } from "./Icon";
import { useWords } from "./language";
import { openSidebar } from "./sidebar";

export function PageHeader({ title, children }: { title: string; children?: ReactNode }) {
  const words = useWords();
  return (
    <header className="page-header">
      <button type="button" className="quiet open-list" aria-label={words.menu} onClick={openSidebar}>
        <Icon name="menu" />
      </button>
      <h1>
        <VisibleText text={title} />
      </h1>
      {children}
    </header>
  );
}
