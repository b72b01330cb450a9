// Why a search answered as it did: wordings, stages in time, candidates with their ranks.
import { el, foreign, table } from "./dom.js";
import { channelInWords, CHANNEL_ORDER, count, figure, langOf, languageName, milliseconds } from "./words.js";

const SHOWN = 15;

export function drawTrace({ trace }) {
  return [
    section("Timeline", `What took how long${trace.cached ? "; the answer came from memory" : ""}. Steps may run at the same time.`, timeline(trace.stages)),
    section("Wordings", "What was searched for, and what a check refused.", wordings(trace.plan.variants)),
    section("Candidates", `${count(trace.union, "chunk")} found by ${count(Object.keys(trace.channel_counts).length, "channel")}, and what became of each.`, ...candidates(trace)),
  ];
}

function section(title, words, ...content) {
  return el("section", { class: "section" }, el("h2", {}, title), el("p", { class: "soft" }, words), ...content);
}

function timeline(stages) {
  const end = Math.max(...stages.map((one) => one.start_ms + one.milliseconds), 0.001);
  const rows = stages.map((one) => {
    const bar = el("span", { class: "bar" });
    bar.style.setProperty("--from", `${(one.start_ms / end) * 100}%`);
    bar.style.setProperty("--long", `${(one.milliseconds / end) * 100}%`);
    const channel = one.name.startsWith("channel ") ? `c-${one.name.slice(8)}` : "";
    return el("tr", {},
      el("th", { attributes: { scope: "row" } }, one.name),
      el("td", { class: "number" }, milliseconds(one.milliseconds)),
      el("td", { class: "number" }, one.count ? figure(one.count) : ""),
      el("td", { class: `when ${channel}`.trim() }, el("span", { class: "lane", attributes: { "aria-hidden": "true" } }, bar)));
  });
  return table(`Stages, ${milliseconds(end)} in all`, [{ name: "Stage" }, { name: "Time", class: "number" }, { name: "Out", class: "number" }, { name: "When" }], rows);
}

function wordings(variants) {
  const rows = variants.map((one) => {
    const problems = one.problems.map((p) => `${p.kind.replaceAll("_", " ")}: ${p.expected || "nothing"} became ${p.got || "nothing"}`);
    return el("tr", { class: problems.length ? "out" : "" },
      el("th", { class: "wide", attributes: { scope: "row" } }, foreign(one.text, langOf(one.language))),
      el("td", {}, languageName(one.language)),
      el("td", {}, one.purpose.replaceAll("_", " ")),
      el("td", {}, foreign(one.source)),
      el("td", {}, foreign(problems.length ? `refused: ${problems.join("; ")}` : "searched")));
  });
  return table("Wordings", [{ name: "Text" }, { name: "Language" }, { name: "For" }, { name: "From" }, { name: "Verdict" }], rows);
}

function candidates(trace) {
  const all = trace.candidates;
  if (!all.length) return [];
  const channels = CHANNEL_ORDER.filter((one) => all.some((candidate) => candidate.channels[one]));
  const again = all.some((one) => one.rerank_rank !== null);
  const anchored = all.some((one) => one.anchors.length);
  const columns = [
    { name: "Fused", class: "number" },
    ...(again ? [{ name: "Second look", class: "number" }] : []),
    { name: "Document" },
    { name: "Language" },
    { name: "What became of it" },
    ...channels.map((one) => ({ name: channelInWords(one), class: "number" })),
    ...(anchored ? [{ name: "Exact words" }] : []),
  ];
  const row = (one) => el("tr", { class: one.removed_reason ? "out" : "" },
    el("td", { class: "number", attributes: { title: `score ${one.fused_score.toFixed(4)}` } }, one.fused_rank),
    again ? el("td", { class: "number" }, one.rerank_rank ?? "") : null,
    el("th", { attributes: { scope: "row" }, class: "mono" }, foreign(one.source_uri)),
    el("td", {}, languageName(one.language)),
    el("td", { class: "fate" }, one.removed_reason || "in the answer"),
    ...channels.map((name) => el("td", { class: `number c-${name}` }, one.channels[name] ? el("span", { class: "swatch", attributes: { "aria-hidden": "true" } }) : null, one.channels[name]?.rank ?? "")),
    anchored ? el("td", {}, foreign(one.anchors.join(" "))) : null);
  const drawn = table("Candidates", columns, all.slice(0, SHOWN).map(row));
  if (all.length <= SHOWN) return [drawn];
  const more = el("button", { class: "quiet more", attributes: { type: "button" } }, `Show all ${all.length}`);
  more.addEventListener("click", () => {
    drawn.querySelector("tbody").append(...all.slice(SHOWN).map(row));
    more.remove();
    drawn.focus();
  });
  return [drawn, more];
}
