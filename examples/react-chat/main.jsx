import { Client } from "@turnwire/client";
import { TurnwireProvider, useConversation, useInbox } from "@turnwire/client/react";
import { memo } from "react";
import { createRoot } from "react-dom/client";

function Chat({ id }) {
  const { view, connection, error, unanswered, send, interrupt, answer, decide } = useConversation(id);
  const { items } = useInbox();
  const say = (form) => void send(form.get("words")).catch((refused) => alert(refused.message));
  return (
    <>
      <header>
        {error?.message ?? connection}, {unanswered.length} unanswered, {items.length} open requests
      </header>
      {view.messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
      {view.status?.requests.map((request) => (
        <Request key={request.request_id} request={request} answer={answer} decide={decide} />
      ))}
      <form action={say}>
        <input name="words" placeholder="Write a message" required />
        <button type="submit">Send</button>
        <Choice text="Stop" disabled={!view.status?.running} choose={() => interrupt()} />
      </form>
    </>
  );
}

// An unchanged message is the same object, so only the growing message renders again.
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
  const state = block.result ? (block.result.is_error ? "failed" : "done") : "...";
  return (
    <details open={!block.result}>
      <summary>{`${block.tool_name} ${state}`}</summary>
      <code>{block.input_text ?? JSON.stringify(block.input)}</code>
      <pre>{typeof output === "string" ? output : JSON.stringify(output)}</pre>
      {block.messages?.map((message) => (
        <Message key={message.id} message={message} />
      ))}
    </details>
  );
});

function Request({ request, answer, decide }) {
  const { request_id: id, kind, questions = [], title, tool_name, input } = request;
  const reply = (name, words) => answer(id, questions[1] ? { [name]: words } : words);
  const questionForm = ({ id: name, question, options = [] }) => (
    <fieldset key={question}>
      <legend>{question}</legend>
      {options.map(({ label }) => (
        <Choice key={label} text={label} choose={() => reply(name, label)} />
      ))}
      <Choice text="Other" choose={async () => reply(name, prompt(question) ?? "never mind")} />
    </fieldset>
  );
  if (kind === "question") return questions.map(questionForm);
  return (
    <fieldset>
      <legend>{title ?? `May ${tool_name} run?`}</legend>
      <code>{JSON.stringify(input)}</code>
      <Choice text="Allow" choose={() => decide(id, "allow")} />
      <Choice text="Deny" choose={() => decide(id, "deny")} />
    </fieldset>
  );
}

function Choice({ text, disabled, choose }) {
  const click = () => choose().catch((refused) => alert(refused.message));
  return (
    <button type="button" disabled={disabled} onClick={click}>
      {text}
    </button>
  );
}

const client = new Client();
const link = new URL(location).searchParams.get("link");
if (link) await client.enter(link).catch(() => {});
location.hash ||= await client.create();
createRoot(document.getElementById("root")).render(
  <TurnwireProvider client={client}>
    <Chat id={location.hash.slice(1)} />
  </TurnwireProvider>,
);
