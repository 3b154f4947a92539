// The parts of a permission, for a page that arranges them itself. The behaviour is that of `usePermission`.
import {
  type ComponentPropsWithoutRef,
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
} from "react";
import type { UsedPermission } from "../headless/permission.js";
import { useCountedForm } from "./open_forms.js";
import { useWords } from "./words.js";

const Context = /* @__PURE__ */ createContext<UsedPermission | undefined>(undefined);

/** Returns what the nearest PermissionRoot was given. */
export function useCurrentPermission(): UsedPermission {
  const current = useContext(Context);
  if (!current) throw new Error("There is no permission: put <PermissionRoot> around it.");
  return current;
}

export interface PermissionRootProps extends ComponentPropsWithoutRef<"section"> {
  permission: UsedPermission;
}

/** The element around the parts. Give it a name: `aria-label` or `aria-labelledby`. */
export function PermissionRoot({ permission, ...section }: PermissionRootProps): ReactElement {
  useCountedForm(permission.form !== "plain");
  return (
    <Context.Provider value={permission}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend, and cannot be a landmark */}
      <section role="group" data-turnwire="permission" aria-busy={permission.isBusy} {...section} />
    </Context.Provider>
  );
}

/** Without children, the button shows its words. */
type ButtonProps = Omit<ComponentPropsWithoutRef<"button">, "type" | "onClick">;

function Decision({
  run,
  label,
  children,
  ...button
}: ButtonProps & { run: () => void; label: ReactNode }): ReactElement {
  const { isReady } = useCurrentPermission();
  return (
    <button type="button" disabled={!isReady} {...button} onClick={run}>
      {children ?? label}
    </button>
  );
}

/** Allows the call, once. */
export function PermissionAllow(button: ButtonProps): ReactElement {
  return <Decision run={useCurrentPermission().allow} label={useWords().allow} {...button} />;
}

/** Denies the call, without a reason. */
export function PermissionDeny(button: ButtonProps): ReactElement {
  return <Decision run={useCurrentPermission().deny} label={useWords().deny} {...button} />;
}

/** Allows the call and remembers rules: one of `useCurrentPermission().rules`. */
export function PermissionAlways({
  rules,
  ...button
}: ButtonProps & { rules: readonly unknown[] }): ReactElement {
  const { always } = useCurrentPermission();
  return <Decision run={() => always(rules)} label={useWords().alwaysAllow()} {...button} />;
}

/** Opens the form for the reason of a denial; nothing, if the agent takes none. */
export function PermissionDenyWithReason(button: ButtonProps): ReactNode {
  return <Opener opens="deny" label={useWords().denyWithReason} {...button} />;
}

/** Opens the form for a changed input; nothing, if the agent takes none. */
export function PermissionEdit(button: ButtonProps): ReactNode {
  return <Opener opens="edit" label={useWords().edit} {...button} />;
}

function Opener({
  opens,
  label,
  children,
  ...button
}: ButtonProps & { opens: "deny" | "edit"; label: string }): ReactNode {
  const { takesText, isBusy, openForm } = useCurrentPermission();
  if (!takesText) return null;
  return (
    <button type="button" disabled={isBusy} {...button} onClick={() => openForm(opens)}>
      {children ?? label}
    </button>
  );
}

/** The open form: for a reason, or for a changed input. Nothing while none is open. Escape closes it. */
export function PermissionForm(
  form: Omit<ComponentPropsWithoutRef<"form">, "onSubmit" | "onKeyDown">,
): ReactNode {
  const current = useCurrentPermission();
  if (current.form === "plain") return null;
  return (
    <form
      {...form}
      onSubmit={(event) => {
        event.preventDefault();
        current.submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
        event.preventDefault(); // it closes the form, and does not stop the agent
        current.back();
      }}
    />
  );
}

/** The field of the form: one line for a reason, several for what is to run. */
export function PermissionField({ className }: { className?: string | undefined }): ReactElement {
  const words = useWords();
  const { form, text, write } = useCurrentPermission();
  if (form !== "edit")
    return (
      <input
        autoFocus
        className={className}
        aria-label={words.whyNot}
        placeholder={words.whyNot}
        value={text}
        onChange={(event) => write(event.target.value)}
      />
    );
  return (
    <textarea
      autoFocus
      className={className}
      aria-label={words.whatRuns}
      spellCheck={false}
      dir="ltr"
      rows={Math.min(10, text.split("\n").length + 1)}
      value={text}
      onChange={(event) => write(event.target.value)}
    />
  );
}

/** Why the changed input cannot be sent; nothing, if it can. */
export function PermissionProblem(text: Omit<ComponentPropsWithoutRef<"p">, "children">): ReactNode {
  const words = useWords();
  const { problem } = useCurrentPermission();
  if (!problem) return null;
  return (
    <p role="alert" {...text}>
      {problem.kind === "json" ? words.notJson(problem.message) : words.runsNothing}
    </p>
  );
}

/** Sends the form. */
export function PermissionSubmit({ children, ...button }: ButtonProps): ReactElement {
  const words = useWords();
  const { form, isBusy } = useCurrentPermission();
  return (
    <button type="submit" disabled={isBusy} {...button}>
      {children ?? (form === "edit" ? words.allowThis : words.deny)}
    </button>
  );
}

/** Closes the form. */
export function PermissionBack({ children, ...button }: ButtonProps): ReactElement {
  const words = useWords();
  const { back } = useCurrentPermission();
  return (
    <button type="button" {...button} onClick={back}>
      {children ?? words.back}
    </button>
  );
}
