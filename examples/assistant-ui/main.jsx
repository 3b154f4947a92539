import { useChat } from "@ai-sdk/react";
import { useAISDKChat, useAISDKRuntime } from "@assistant-ui/ai-sdk";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from "@assistant-ui/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useEffect, useRef, useState } from "react";
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

function App() {
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

  const read = async () => {
    const answer = await fetch(`${api}/${id}/messages`, { headers }).catch(() => null);
    if (!answer?.ok) {
      setLink(answer ? `${answer.status} ${answer.statusText}` : "offline");
      return setTimeout(read, 500);
    }
    const { messages: told } = await answer.json();
    chat.setMessages(told);
    setLink("online");
    const lost = unsent.current;
    unsent.current = null;
    // A message is taken once, by its id.
    if (lost && !told.some((each) => each.id === lost.id)) sendMessage(lost);
    else chat.resumeStream(); // the answer that runs, from its beginning
  };
  const isOnline = link === "online";
  useEffect(() => void (isOnline || read()), [isOnline]);

  const sendMessage = (message, options) => {
    if (message) unsent.current = message = { id: crypto.randomUUID(), ...message };
    return chat.sendMessage(message, options);
  };
  // The turn itself is stopped, and its stream ends with it.
  const stop = () => fetch(`${api}/${id}/stop`, { method: "POST", headers });
  const runtime = useAISDKRuntime({ ...chat, sendMessage, stop }, { joinStrategy: "none", isDisabled: !isOnline });
  const isBusy = chat.status === "submitted" || chat.status === "streaming";
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <header>{!isOnline ? link : isBusy ? "running" : (chat.error?.message ?? "ready")}</header>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ Message }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input name="words" placeholder="Write a message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel id="stop">Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function Message() {
  const { role, metadata } = useAuiState((state) => state.message);
  return (
    <MessagePrimitive.Root asChild>
      <section>
        <b>{role}</b>
        <MessagePrimitive.Parts components={PARTS} />
        <p>{metadata.custom.turnwire?.error?.message}</p>
      </section>
    </MessagePrimitive.Root>
  );
}

const isShown = ({ providerMetadata }) => !providerMetadata?.turnwire?.discarded;
const Text = (part) => isShown(part) && <p style={{ whiteSpace: "pre-wrap" }}>{part.text}</p>;
const Reasoning = (part) => isShown(part) && <p style={{ fontStyle: "italic" }}>{part.text}</p>;

function Tool({ toolName, argsText, result, isError, approval, respondToApproval }) {
  const isAsked = approval && approval.approved === undefined && result === undefined;
  const state = isError ? "failed" : result !== undefined ? "done" : "...";
  return (
    <details open={result === undefined}>
      <summary>{`${toolName} ${state}`}</summary>
      <code>{argsText}</code>
      <pre>{typeof result === "string" ? result : JSON.stringify(result)}</pre>
      {isAsked && <button onClick={() => respondToApproval({ approved: true })}>Allow</button>}
      {isAsked && <button onClick={() => respondToApproval({ approved: false })}>Deny</button>}
    </details>
  );
}

function Question({ data }) {
  const { setMessages, sendMessage } = useAISDKChat();
  const { questionId, questions, state } = data;
  const [chosen, setChosen] = useState({}); // of a form: it is sent when each question has an answer
  const reply = (answer) => {
    const put = (part) => (part.id === questionId ? { ...part, data: { ...data, answer } } : part);
    setMessages((all) => all.map((each) => ({ ...each, parts: each.parts.map(put) })));
    sendMessage();
  };
  if (state !== "open") return <p>{`${questions[0].question} ${JSON.stringify(data.answer ?? state)}`}</p>;
  const choose = (name, words) => (questions[1] ? setChosen({ ...chosen, [name]: words }) : reply(words));
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
  const send = () => reply(chosen);
  const isWhole = questions.every(({ id: name }) => name in chosen);
  return [...drawn, isWhole && <button key="send" onClick={send}>Answer</button>];
}

const PARTS = { Text, Reasoning, tools: { Fallback: Tool }, data: { by_name: { question: Question } } };

createRoot(document.getElementById("root")).render(<App />);
