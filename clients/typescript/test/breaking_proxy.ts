// A proxy that can break connections.
import { connect, createServer, type Server as NetServer, type Socket as NetSocket } from "node:net";

/** A proxy between a client and the server. It can cut all connections, or drop what the server sends. */
export class BreakingProxy {
  connections = 0;
  /** Drops what the server sends; with `frames` everything but the answer to the upgrade. */
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

  static async before(url: string): Promise<BreakingProxy> {
    const breaker = new BreakingProxy(new URL(url));
    await new Promise<void>((ready) => breaker.listener.listen(0, "127.0.0.1", ready));
    breaker.url = `http://127.0.0.1:${(breaker.listener.address() as { port: number }).port}`;
    return breaker;
  }

  /** Drops everything on the existing connections from now on, without closing them. */
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
