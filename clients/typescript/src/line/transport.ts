// How a WebSocket is opened. Browsers have their own; Node.js has the one in src/node.

/** What a line needs of a WebSocket. */
export interface Socket {
  send(text: string): void;
  /** End it. `close` is called, at once or later. */
  end(): void;
}

export interface SocketEvents {
  open(): void;
  message(text: string): void;
  /** The last call. 1006: the line broke. */
  close(code: number): void;
}

export interface Transport {
  /** Whether it can send headers with the request that opens a WebSocket. Browsers cannot. */
  readonly sendsHeaders: boolean;
  open(address: string, protocols: string[], headers: Record<string, string>, on: SocketEvents): Socket;
}

/** The WebSocket of a browser, and of whatever else has one. */
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
