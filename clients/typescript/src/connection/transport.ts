// How a WebSocket is opened. Browsers have their own; Node.js uses src/node.

/** The part of a WebSocket that a connection needs. */
export interface Socket {
  send(text: string): void;
  /** Ends the connection. `close` is called, now or later. */
  end(): void;
}

export interface SocketEvents {
  open(): void;
  message(text: string): void;
  /** The last call. 1006: the connection was lost. */
  close(code: number): void;
}

export interface Transport {
  /** Whether it can send headers with the upgrade request. Browsers cannot. */
  readonly sendsHeaders: boolean;
  open(address: string, protocols: string[], headers: Record<string, string>, on: SocketEvents): Socket;
}

/** The WebSocket of browsers and of other runtimes that have one. */
export const browserTransport: Transport = {
  sendsHeaders: false,
  open(address, protocols, _headers, on) {
    const socket = new WebSocket(address, protocols);
    socket.onopen = () => on.open();
    socket.onmessage = (event) => on.message(String(event.data));
    socket.onclose = (event) => on.close(event.code);
    return { send: (text) => socket.send(text), end: () => socket.close() };
  },
};
