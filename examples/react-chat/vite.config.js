// Proxies the server's paths: page and server must have the same origin, so that the cookie is sent.
const target = process.env.TURNWIRE_URL ?? "http://127.0.0.1:7410";

export default {
  esbuild: { jsx: "automatic" },
  resolve: { dedupe: ["@turnwire/client", "react", "react-dom"] }, // a linked package has a React of its own
  server: { proxy: { "/api": { target }, "/enter": { target }, "/ws": { target, ws: true } } },
};
