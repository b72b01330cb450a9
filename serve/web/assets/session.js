// The caller's token: in this tab's session storage, nowhere else, and sent to this service only.
import { byId } from "./dom.js";

const KEY = "babelray.token";
const changed = new EventTarget();

export const token = {
  get value() {
    return sessionStorage.getItem(KEY) ?? "";
  },
  set value(text) {
    if (text) sessionStorage.setItem(KEY, text);
    else sessionStorage.removeItem(KEY);
    changed.dispatchEvent(new Event("change"));
  },
  onChange: (listener) => changed.addEventListener("change", listener),
};

/** What a token says of itself. Nobody has checked it here: it is for the eye only. */
export function claimsOf(text) {
  try {
    const part = text.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (one) => one.charCodeAt(0));
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    return claims && typeof claims === "object" ? claims : null;
  } catch {
    return null;
  }
}

function describe(text) {
  if (!text) return "";
  const claims = claimsOf(text);
  if (!claims) return "This does not look like a signed token.";
  const groups = Array.isArray(claims.groups) ? claims.groups.join(", ") : "";
  const ends = Number.isFinite(claims.exp) ? new Date(claims.exp * 1000) : null;
  const until = ends ? `${ends < new Date() ? "expired" : "good until"} ${ends.toLocaleString("en")}` : "";
  return [claims.tenant && `tenant ${claims.tenant}`, groups && `groups ${groups}`, until].filter(Boolean).join(" · ");
}

function show() {
  const claims = claimsOf(token.value);
  byId("token-state").textContent = !token.value ? "No token" : claims?.tenant ? `Tenant ${claims.tenant}` : "Token set";
  byId("token-open").classList.toggle("has-token", Boolean(token.value));
}

export function openToken() {
  byId("token").value = token.value;
  byId("token-claims").textContent = describe(token.value);
  byId("token-dialog").showModal();
}

export function startSession() {
  const dialog = byId("token-dialog");
  byId("token-open").addEventListener("click", openToken);
  byId("token").addEventListener("input", (event) => {
    byId("token-claims").textContent = describe(event.target.value.trim());
  });
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token.value = byId("token").value.trim().replace(/^bearer\s+/i, "");
    dialog.close();
  });
  byId("token-forget").addEventListener("click", () => {
    token.value = "";
    dialog.close();
  });
  token.onChange(show);
  show();
}
