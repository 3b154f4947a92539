import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { memo, useCallback, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";

const address = new URL(location.href);
if (!address.searchParams.has("chat")) {
  address.searchParams.set("chat", crypto.randomUUID());
  history.replaceState(null, "", address);
}
const id = address.searchParams.get("chat");
const api = `${import.meta.env.VITE_TURNWIRE_URL ?? "http://127.0.0.1:7410"}/api/chat`;
const headers = { Authorization: `Bearer ${new URLSearchParams(address.hash.slice(1)).get("token")}` };
const transport = new DefaultChatTransport({
  api,
  headers,
  // The server has the history: the last message is enough.
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
});

function Chat() {
  const [link, setLink] = useState("reading"); // then `online`, or the reason why not
  const unsent = useRef(null); // the person's message that the server may not have
  const chat = useChat({
    id,
    transport,
    throttle: 50,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    // A stream ends with its turn, or with the server: the messages of the server say which.
    onFinish: ({ isError }) => isError || setLink("reading"),
    onError: (error) => (error instanceof TypeError ? setLink("offline") : (unsent.current = null)),
  });
  const { messages, setMessages, resumeStream, sendMessage, status, error } = chat;

  const read = async () => {
    const answer = await fetch(`${api}/${id}/messages`, { headers }).catch(() => null);
    if (!answer?.ok) {
      setLink(answer ? `${answer.status} ${answer.statusText}` : "offline");
      return setTimeout(read, 500);
    }
    const { messages: told } = await answer.json();
    setMessages(told);
    setLink("online");
    const lost = unsent.current;
    unsent.current = null;
    // A message is taken once, by its id.
    if (lost && !told.some((each) => each.id === lost.id)) say(lost);
    else resumeStream(); // the answer that runs, from its beginning
  };
  const isOnline = link === "online";
  useEffect(() => void (isOnline || read()), [isOnline]);

  function say(message) {
    unsent.current = message;
    return sendMessage(message);
  }
  const submit = (form) =>
    void say({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text: form.get("words") }] });
  const answer = useCallback((question, words) => {
    const answered = { ...question, data: { ...question.data, answer: words } };
    const put = (part) => (part.id === question.id && part.type === question.type ? answered : part);
    setMessages((all) => all.map((each) => ({ ...each, parts: each.parts.map(put) })));
    sendMessage();
  }, []);
  const stop = async () => {
    await fetch(`${api}/${id}/stop`, { method: "POST", headers });
    if (status === "ready") setLink("reading"); // the turn waited for a person, so no stream ends
  };
  const isBusy = status === "submitted" || status === "streaming";
  return (
    <>
      <header>{!isOnline ? link : isBusy ? "running" : (error?.message ?? "ready")}</header>
      {messages.map((message) => (
        <Message key={message.id} message={message} decide={chat.addToolApprovalResponse} answer={answer} />
      ))}
      <form action={submit}>
        <input name="words" placeholder="Write a message" required />
        <button disabled={!isOnline || isBusy}>Send</button>
        <button type="button" id="stop" onClick={stop}>
          Stop
        </button>
      </form>
    </>
  );
}

const Message = memo(({ message, decide, answer }) => (
  <section>
    <b>{message.role}</b>
    {message.parts.map((part, place) => (
      <Part key={place} part={part} decide={decide} answer={answer} />
    ))}
    <p>{message.metadata?.turnwire?.error?.message}</p>
  </section>
));

const Part = memo(({ part, decide, answer }) => {
  if (part.providerMetadata?.turnwire?.discarded) return null;
  if (part.type === "text") return <p style={{ whiteSpace: "pre-wrap" }}>{part.text}</p>;
  if (part.type === "reasoning") return <p style={{ fontStyle: "italic" }}>{part.text}</p>;
  if (part.type === "dynamic-tool") return <Tool part={part} decide={decide} />;
  if (part.type === "data-question") return <Question part={part} answer={answer} />;
  if (part.type === "data-plan") return <pre>{JSON.stringify(part.data, null, 2)}</pre>;
  return null;
});

function Tool({ part, decide }) {
  const { toolName, state, input, output, errorText, approval } = part;
  const shown = errorText ?? output ?? "";
  return (
    <details open={!state.startsWith("output")}>
      <summary>{`${toolName} ${state}`}</summary>
      <code>{JSON.stringify(input)}</code>
      <pre>{typeof shown === "string" ? shown : JSON.stringify(shown)}</pre>
      {state === "approval-requested" && (
        <>
          <button onClick={() => decide({ id: approval.id, approved: true })}>Allow</button>
          <button onClick={() => decide({ id: approval.id, approved: false })}>Deny</button>
        </>
      )}
    </details>
  );
}

function Question({ part, answer }) {
  const { questions, state } = part.data;
  const [chosen, setChosen] = useState({}); // of a form: it is sent when each question has an answer
  if (state !== "open") return <p>{`${questions[0].question} ${JSON.stringify(part.data.answer ?? state)}`}</p>;
  const choose = (name, words) => (questions[1] ? setChosen({ ...chosen, [name]: words }) : answer(part, words));
  const drawn = questions.map(({ id: name, question, options = [] }) => (
    <fieldset key={name}>
      <legend>{`${question} ${chosen[name] ?? ""}`}</legend>
      {options.map(({ label }) => (
        <button key={label} onClick={() => choose(name, label)}>
          {label}
        </button>
      ))}
      <button onClick={() => choose(name, prompt(question) ?? "never mind")}>Other</button>
    </fieldset>
  ));
  const send = () => answer(part, chosen);
  const isWhole = questions.every(({ id: name }) => name in chosen);
  return [...drawn, isWhole && <button key="send" onClick={send}>Answer</button>];
}

createRoot(document.getElementById("root")).render(<Chat />);
