// The index page: what is served, how much of it in which languages, and how well it finds.
import { api, Problem } from "./api.js";
import { byId, chip, el, fill, problemNotice, table, track } from "./dom.js";
import { openToken, token } from "./session.js";
import { count, figure, langOf, languageName, moment, percent } from "./words.js";

async function load() {
  const status = byId("indexes-status");
  status.textContent = "Loading";
  try {
    const { indexes } = await api.indexes();
    const listed = await Promise.all(indexes.map((one) => api.generations(one.name)));
    fill(byId("indexes"), ...indexes.map((one, n) => drawIndex(one, listed[n].generations)));
    status.textContent = count(indexes.length, "index", "indexes");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    status.textContent = "";
    const login = el("button", { class: "quiet", attributes: { type: "button" }, on: { click: openToken } }, "Enter a token");
    fill(byId("indexes"), problemNotice(error, error.status === 401 ? el("p", { class: "row" }, login) : null));
  }
}

function drawIndex(index, generations) {
  const counted = index.chunks !== undefined;
  return el("article", { class: "card" },
    el("div", { class: "index-head" }, el("h2", {}, index.name),
      el("span", { class: "chips" }, chip("Generation", el("span", { class: "mono" }, index.generation)), chip("Model", el("span", { class: "mono" }, index.model)))),
    el("dl", { class: "figures" },
      counted ? number("Documents", figure(index.documents)) : null,
      counted ? number("Chunks", figure(index.chunks)) : null,
      number("Built", moment(index.created_at), true),
      number("Recall of vectors", share(index.recall)),
      ...Object.entries(index.filtered_recall ?? {}).map(([kept, value]) => number(`where ${percent(Number(kept))} may be read`, share(value)))),
    ...(index.refused ?? []).map((one) => el("p", { class: "notice bad" }, `Generation ${one.generation} was refused: ${one.reason}`)),
    el("h3", { class: "sub" }, "Languages"),
    counted ? languages(index.languages) : el("p", { class: "soft" }, "Counts are over all tenants, so they are shown only to somebody on the service's own machine without a token."),
    el("h3", { class: "sub" }, "Generations"), history(generations));
}

const share = (value) => (value === null || value === undefined ? "not measured" : percent(value));

function number(name, value, small = false, note = "") {
  return el("div", {}, el("dt", {}, name), el("dd", {}, small || value === "not measured" ? el("small", {}, value) : value, note ? el("small", {}, ` ${note}`) : null));
}

function languages(counts) {
  const sorted = Object.entries(counts).sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  const [all, most] = [sorted.reduce((sum, [, n]) => sum + n, 0), sorted[0]?.[1] ?? 1];
  const rows = sorted.map(([tag, n]) => el("tr", {},
    el("th", { attributes: { scope: "row", title: tag, lang: langOf(tag) === null ? null : "en" } }, languageName(tag)),
    el("td", {}, track((n / most) * 100)),
    el("td", {}, `${figure(n)} · ${percent(n / all)}`)));
  return el("table", { class: "langs" }, el("caption", { class: "hidden" }, "Chunks by language"),
    el("thead", { class: "hidden" }, el("tr", {}, ...["Language", "", "Chunks"].map((one) => el("th", { attributes: { scope: "col" } }, one)))),
    el("tbody", {}, ...rows));
}

function history(generations) {
  const counted = generations.some((one) => one.chunks !== undefined);
  const columns = [{ name: "Generation" }, { name: "State" }, { name: "Built" }, { name: "Model" },
    ...(counted ? [{ name: "Documents", class: "number" }, { name: "Chunks", class: "number" }] : []), { name: "Recall", class: "number" }];
  const rows = generations.map((one) => el("tr", { class: one.problem ? "out" : "" },
    el("th", { class: "mono", attributes: { scope: "row" } }, one.generation),
    el("td", {}, one.serving ? chip("", "serving", "good") : chip("", one.problem ?? one.status)),
    el("td", { class: "built" }, one.created_at ? moment(one.created_at) : ""),
    el("td", { class: "mono" }, one.model ?? ""),
    ...(counted ? [one.documents, one.chunks].map((n) => el("td", { class: "number" }, n === undefined ? "" : figure(n))) : []),
    el("td", { class: "number" }, one.recall === undefined ? "" : share(one.recall))));
  return table("Generations, newest first", columns, rows);
}

export function startIndexes() {
  const shown = () => !byId("panel-indexes").hidden;
  document.addEventListener("page", (event) => {
    if (event.detail === "indexes") load();
  });
  token.onChange(() => {
    if (shown()) load();
  });
}
