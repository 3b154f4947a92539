// Registers the worker that shows the offline page. A page without TLS, other than on this machine,
// has no workers.

/** The part of trusted types that is needed here. */
interface TrustedTypes {
  createPolicy: (
    name: string,
    rules: { createScriptURL: (address: string) => string },
  ) => {
    createScriptURL: (address: string) => string;
  };
}

const base = document.baseURI;
// The main script has another name after each build: then the browser installs the worker again.
const build = document.querySelector<HTMLScriptElement>("script[src]")?.src.split("/").at(-1) ?? "";
const address = `${base}worker.js?${build}`;

async function register(): Promise<void> {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };
  const rules = {
    createScriptURL: (to: string) => {
      if (to !== address) throw new TypeError("only the worker of the page");
      return to;
    },
  };
  const policy = trustedTypes?.createPolicy("turnwire-worker", rules) ?? rules;
  const options = { scope: base, updateViaCache: "none" } as const;
  await navigator.serviceWorker.register(policy.createScriptURL(address), options);
}

// Without a worker, the browser shows its own page.
if ("serviceWorker" in navigator) register().catch(() => {});

export {};
