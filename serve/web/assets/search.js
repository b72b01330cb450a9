// The search page: asks, and says in words how it went.
import { api, Problem } from "./api.js";
import { byId, chip, el, fill, foreign, problemNotice } from "./dom.js";
import { drawPassage, legend } from "./passage.js";
import { openReport } from "./report.js";
import { openToken, token } from "./session.js";
import { drawTrace } from "./trace.js";
import { count, degradedInWords, languageName, milliseconds } from "./words.js";

const OFFERED = ["en", "ar", "zh", "de", "es", "fr", "he", "hi", "it", "ja", "ko", "pt", "ru", "tr", "uk"];
let running = null;

const names = (text) => {
  const found = text.split(",").map((one) => one.trim()).filter(Boolean);
  return found.length ? found : null;
};

function request() {
  const field = (id) => byId(id);
  const body = {
    query: field("query").value.trim(),
    k: Number(field("k").value) || 10,
    explain: field("explain").checked,
    previews: field("previews").checked,
    fresh_only: field("fresh-only").checked,
    domain: field("domain").value.trim(),
    answer_language: field("answer-language").value || null,
    knowledge_bases: names(field("knowledge-bases").value),
    groups: names(field("groups").value),
    token_budget: Number(field("token-budget").value) || null,
    index: field("index").value || null,
  };
  // What was not asked for is left out, so that the service's own defaults hold.
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== ""));
}

async function search() {
  const body = request();
  if (!body.query) return;
  running?.abort();
  const mine = (running = new AbortController());
  const [status, results] = [byId("search-status"), byId("results")];
  status.textContent = "Searching";
  results.classList.add("busy");
  byId("panel-search").setAttribute("aria-busy", "true");
  const began = performance.now();
  try {
    const response = await api.retrieve(body, mine.signal);
    show(response, performance.now() - began);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    status.textContent = error.title;
    fill(results);
    fill(byId("trace"));
    fill(byId("search-notices"), problemNotice(error, wayOut(error)));
  } finally {
    if (running === mine) {
      results.classList.remove("busy");
      byId("panel-search").removeAttribute("aria-busy");
    }
  }
}

/** A button that leads on from a problem, where there is one. */
function wayOut(problem) {
  if (problem.status === 401) {
    return el("p", { class: "row" }, el("button", { class: "quiet", attributes: { type: "button" }, on: { click: openToken } }, "Enter a token"));
  }
  if (problem.retryAfter === null) return null;
  const again = el("button", { class: "quiet", attributes: { type: "button", disabled: "" }, on: { click: search } });
  let left = Math.min(problem.retryAfter, 3600);
  const tick = () => {
    again.textContent = left > 0 ? `Try again in ${left} s` : "Try again";
    again.disabled = left > 0;
    left -= 1;
    if (left >= 0 && (again.isConnected || left + 1 === problem.retryAfter)) setTimeout(tick, 1000);
  };
  tick();
  return el("p", { class: "row" }, again);
}

function show(response, spent) {
  const { passages, evidence_languages: languages } = response;
  const inLanguages = languages.length ? ` in ${languages.map(languageName).join(", ")}` : "";
  byId("search-status").textContent = passages.length
    ? `${count(passages.length, "passage")}${inLanguages}, ${milliseconds(spent)}`
    : `No passage found, ${milliseconds(spent)}`;
  fill(byId("search-notices"), clarification(response), degraded(response));
  fill(byId("results"), facts(response), passages.length ? legend() : nothing(response),
    passages.length ? el("ol", { class: "answer" }, ...passages.map((one) => drawPassage(one, response))) : null);
  fill(byId("trace"), response.trace ? drawTrace(response) : null);
}

/** How the query was understood, and what answered. */
function facts(response) {
  const { analysis } = response;
  const shares = analysis.candidates.slice(0, 3).map((one) => `${languageName(one.language)} ${Math.round(one.probability * 100)}%`);
  const anchors = analysis.anchors.filter((one) => one.must_preserve).slice(0, 8);
  return el("div", { class: "chips facts" },
    chip("Query", shares.join(", ") || languageName(analysis.language), "accent"),
    ...analysis.types.map((one) => chip("", one.replaceAll("_", " "))),
    ...anchors.map((one) => chip(one.type.replaceAll("_", " "), foreign(one.value))),
    analysis.suspicions.length ? chip("Suspicious query", [...new Set(analysis.suspicions.map((one) => one.kind.replaceAll("_", " ")))].join(", "), "warn") : null,
    chip("Index", response.index),
    chip("Generation", el("span", { class: "mono", attributes: { id: "generation" } }, response.generation)),
    chip("Model", el("span", { class: "mono", attributes: { id: "model" } }, response.model_key)));
}

function degraded({ degraded: parts }) {
  if (!parts.length) return null;
  const byReason = new Map();
  for (const one of parts) byReason.set(one.reason, [...(byReason.get(one.reason) ?? []), one]);
  const items = [...byReason].map(([reason, same]) => {
    const details = [...new Set(same.map((one) => one.detail))].filter(Boolean).join("; ");
    return el("li", {}, degradedInWords(reason), el("span", { class: "soft" }, ` Instead: ${same[0].fallback}${details ? ` (${details})` : ""}.`));
  });
  return el("section", { class: "notice", attributes: { "aria-label": "What was done without" } },
    el("h2", {}, "This answer was made with less than everything"), el("ul", {}, ...items));
}

function clarification(response) {
  if (!response.clarifications.length) return null;
  const asked = response.clarifications.map((one) => el("div", {},
    el("p", {}, "Which ", foreign(one.name), " is meant?"),
    el("p", { class: "row" }, ...Object.entries(one.candidates).map(([id, name]) => el("button", {
      class: "quiet", attributes: { type: "button", title: id }, on: { click: () => mean(one.name, name) },
    }, foreign(name))))));
  const unclear = response.status === "needs_clarification";
  return el("section", { class: "notice ask-back", attributes: { "aria-label": "A name may mean several things" } },
    el("h2", {}, unclear ? "The question can be read in several ways" : "A name may mean several things"), ...asked);
}

/** Ask again, with the name that is meant in the place of the one that was unclear. */
function mean(unclear, name) {
  const query = byId("query");
  query.value = query.value.includes(unclear) ? query.value.replace(unclear, () => name) : `${query.value} ${name}`;
  query.focus();
  search();
}

function nothing(response) {
  return el("div", { class: "card empty" },
    el("strong", {}, "Nothing that you may read answers this"),
    el("p", {}, "Other words, fewer filters or another token may help."),
    el("p", { class: "row" }, el("button", {
      class: "quiet", attributes: { type: "button" }, on: { click: () => openReport(response.request_id, null, `Answer to: ${response.analysis.text}`, "missing") },
    }, "Report that something is missing")));
}

/** A choice of indexes where there are several. The list is public: it tells names, not contents. */
async function offerIndexes() {
  try {
    const { indexes } = await api.health();
    const served = Object.keys(indexes).sort();
    fill(byId("index"), ...served.map((one) => el("option", { attributes: { value: one } }, one)));
    byId("index-choice").hidden = served.length < 2;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
}

export function startSearch() {
  const previews = byId("previews");
  fill(byId("answer-language"), el("option", { attributes: { value: "" } }, "the query's language"),
    ...OFFERED.map((one) => el("option", { attributes: { value: one } }, languageName(one))));
  byId("answer-language").addEventListener("change", (event) => {
    if (event.target.value) previews.checked = true;
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  token.onChange(() => {
    fill(byId("results"));
    fill(byId("trace"));
    fill(byId("search-notices"));
    byId("search-status").textContent = "";
  });
  offerIndexes();
}
