// Talks to the service. Every failure becomes a Problem with words for a person.
import { token } from "./session.js";

export class Problem extends Error {
  constructor({ status = 0, title, detail, retryAfter = null, requestId = "" }) {
    super(detail);
    Object.assign(this, { status, title, retryAfter, requestId });
  }
}

const TITLES = {
  401: "A token is needed",
  403: "Not allowed",
  413: "Too large",
  422: "The request is not usable",
  429: "The service is busy",
  503: "The service is not ready",
  504: "It took too long",
};

async function call(method, path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ title: "No connection", detail: "The service does not answer. It may be restarting; try again in a moment." });
  }
  const said = await response.json().catch(() => null);
  if (response.ok && said !== null) return said;
  const wait = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  throw new Problem({
    status: response.status,
    title: TITLES[response.status] ?? capital(said?.title ?? "Something went wrong"),
    detail: said?.detail ?? `The service answered with status ${response.status} and nothing that can be read.`,
    retryAfter: Number.isFinite(wait) ? wait : null,
    requestId: said?.request_id ?? response.headers.get("X-Request-Id") ?? "",
  });
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const api = {
  retrieve: (body, signal) => call("POST", "v1/retrieve", { body, signal }),
  health: () => call("GET", "healthz"),
  indexes: () => call("GET", "v1/indexes"),
  generations: (name) => call("GET", `v1/indexes/${encodeURIComponent(name)}/generations`),
  localize: (body, signal) => call("POST", "v1/localize", { body, signal }),
  score: (id, signal) => call("GET", `v1/localize/${encodeURIComponent(id)}/score`, { signal }),
  match: (body, signal) => call("POST", "v1/glossary/match", { body, signal }),
  feedback: (body) => call("POST", "v1/feedback", { body }),
};
