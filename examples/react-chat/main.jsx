import { Client } from "@turnwire/client";
import { TurnwireProvider, useConversation, useInbox } from "@turnwire/client/react";
import { memo } from "react";
import { createRoot } from "react-dom/client";

function Chat({ id }) {
  const { view, connection, error, unanswered, send, interrupt, answer, decide } = useConversation(id);
  const { items } = useInbox();
  const say = (event) => {
    event.preventDefault();
    send(event.target.words.value).catch((refused) => alert(refused.message));
    event.target.reset();
  };
  return (
    <>
      <header>
        {error?.message ?? connection}, {items.length} waiting for somebody
      </header>
      {view.messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
      {view.status?.requests.map((request) => (
        <Request key={request.request_id} request={request} answer={answer} decide={decide} />
      ))}
      {unanswered.length > 0 && <p>sending...</p>}
      <form onSubmit={say}>
        <input name="words" placeholder="Say something" required />
        <button type="submit">Send</button>
        <button type="button" disabled={!view.status?.running} onClick={() => interrupt()}>
          Stop
        </button>
      </form>
    </>
  );
}

// What has not changed is the same object, so only the message that grows is drawn again.
const Message = memo(({ message }) => (
  <section style={{ opacity: message.role === "system" ? 0.5 : 1 }}>
    <b>{message.role}</b>
    {message.blocks.map((block) => (
      <Block key={block.id} block={block} />
    ))}
  </section>
));

const Block = memo(({ block }) => {
  if (block.type === "text") return <p style={{ whiteSpace: "pre-wrap" }}>{block.text}</p>;
  if (block.type === "thinking") return <p style={{ fontStyle: "italic" }}>{block.text}</p>;
  if (block.type !== "tool") return <small> {block.subtype ?? block.name ?? block.type}</small>;
  const output = block.output ?? block.result?.content ?? "";
  return (
    <details open={!block.result}>
      <summary>
        {block.tool_name} {block.result ? (block.result.is_error ? "failed" : "done") : "..."}
      </summary>
      <code>{block.input_text ?? JSON.stringify(block.input)}</code>
      <pre>{typeof output === "string" ? output : JSON.stringify(output)}</pre>
      {block.messages?.map((message) => (
        <Message key={message.id} message={message} />
      ))}
    </details>
  );
});

function Request({ request, answer, decide }) {
  const reply = (promise) => promise.catch((refused) => alert(refused.message));
  if (request.kind === "question") {
    return request.questions?.map(({ question, options = [] }) => (
      <fieldset key={question}>
        <legend>{question}</legend>
        {options.map(({ label }) => (
          <button type="button" key={label} onClick={() => reply(answer(request.request_id, label))}>
            {label}
          </button>
        ))}
      </fieldset>
    ));
  }
  return (
    <fieldset>
      <legend>{request.title ?? `May ${request.tool_name} run?`}</legend>
      <code>{JSON.stringify(request.input)}</code>
      <button type="button" onClick={() => reply(decide(request.request_id, "allow"))}>
        Allow
      </button>
      <button type="button" onClick={() => reply(decide(request.request_id, "deny"))}>
        Deny
      </button>
    </fieldset>
  );
}

const client = new Client();
location.hash ||= await client.create();
createRoot(document.getElementById("root")).render(
  <TurnwireProvider client={client}>
    <Chat id={location.hash.slice(1)} />
  </TurnwireProvider>,
);
