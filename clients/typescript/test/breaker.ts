// A line that can be broken.
import { connect, createServer, type Server as NetServer, type Socket as NetSocket } from "node:net";

/** Stands between a client and the server, and can cut every line or swallow what is said. */
export class Breaker {
  connections = 0;
  /** What the server says does not arrive; with `frames` only the answer to the upgrade does. */
  swallows: boolean | "frames" = false;
  private readonly sockets = new Set<NetSocket>();
  private readonly dead = new WeakSet<NetSocket>();
  private readonly listener: NetServer;
  url = "";

  private constructor(target: URL) {
    this.listener = createServer((near) => {
      this.connections += 1;
      const far = connect(Number(target.port), target.hostname);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(one);
        one.on("error", () => other.destroy());
        one.on("close", () => {
          this.sockets.delete(one);
          other.destroy();
        });
      }
      near.on("data", (bytes) => far.write(bytes));
      let isFirst = true;
      far.on("data", (bytes) => {
        const isSwallowed = this.swallows === "frames" ? !isFirst : this.swallows;
        if (!isSwallowed && !this.dead.has(far)) near.write(bytes);
        isFirst = false;
      });
    });
  }

  static async before(url: string): Promise<Breaker> {
    const breaker = new Breaker(new URL(url));
    await new Promise<void>((ready) => breaker.listener.listen(0, "127.0.0.1", ready));
    breaker.url = `http://127.0.0.1:${(breaker.listener.address() as { port: number }).port}`;
    return breaker;
  }

  /** From now on nothing arrives over the lines that there are, and nobody hangs up. */
  deaden(): void {
    for (const socket of this.sockets) this.dead.add(socket);
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.listener.close();
    this.cut();
  }
}
