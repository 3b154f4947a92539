// The page and the server have to be one origin, so that the server's cookie counts: what is the
// server's is passed on to it as it came.
const target = process.env.TURNWIRE_URL ?? "http://127.0.0.1:7410";

export default {
  esbuild: { jsx: "automatic" },
  server: { proxy: { "/api": { target }, "/enter": { target }, "/ws": { target, ws: true } } },
};
