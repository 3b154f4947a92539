// An error boundary: a part that fails to render does not affect the others.
import { Component, type ReactNode } from "react";
import { Empty } from "../talk/Empty";
import { useWords } from "./language";

interface Props {
  /** The subject: a change of it renders again. */
  of?: unknown;
  /** What to show after a failure. */
  instead: (problem: unknown) => ReactNode;
  children: ReactNode;
}

interface State {
  of: unknown;
  failed?: { problem: unknown } | undefined;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { of: this.props.of };

  static getDerivedStateFromError(problem: unknown): Partial<State> {
    return { failed: { problem } };
  }

  static getDerivedStateFromProps({ of }: Props, before: State): State | null {
    return of === before.of ? null : { of, failed: undefined };
  }

  override render(): ReactNode {
    const { failed } = this.state;
    return failed ? this.props.instead(failed.problem) : this.props.children;
  }
}

/** Shown instead of a whole page. */
export function Broken({ problem }: { problem: unknown }) {
  const words = useWords();
  return (
    <main className="entry-page" id="main">
      <div role="alert">
        <Empty isAll title={words.broken} text={words.brokenHint}>
          <pre>{String(problem)}</pre>
          <button type="button" className="primary" onClick={() => location.reload()}>
            {words.reload}
          </button>
        </Empty>
      </div>
    </main>
  );
}
