// One passage of an answer: the original with its marks, and beside it what a machine made of it.
import { chip, el, foreign, track } from "./dom.js";
import { openReport } from "./report.js";
import { drawPiece, pieces } from "./spans.js";
import { channelInWords, CHANNEL_ORDER, day, figure, langOf, languageName, suspicionInWords } from "./words.js";

export function legend() {
  return el("p", { class: "legend soft" },
    el("span", {}, el("mark", { class: "seed" }, "marked"), " the sentences that the passage grew from"),
    el("span", {}, el("i", { class: "edge", attributes: { "aria-hidden": "true" } }), "the borders at which it was cut"));
}

export function drawPassage(passage, response) {
  const { citation } = passage;
  const title = citation.title || citation.source_uri;
  return el("li", {}, el("article", { class: "card passage", attributes: { "aria-labelledby": `passage-${passage.rank}` } },
    el("div", {},
      el("h2", { attributes: { id: `passage-${passage.rank}` } },
        el("span", { class: "rank" }, passage.rank), foreign(title, langOf(citation.source_language))),
      path(citation)),
    about(passage, response), sides(passage), contributions(passage), foot(passage, response, title)));
}

function path(citation) {
  if (!citation.section_path.length) return null;
  const parts = citation.section_path.map((one) => el("li", {}, foreign(one, langOf(citation.source_language))));
  return el("ol", { class: "path", attributes: { "aria-label": "Section" } }, ...parts);
}

function about({ citation, knowledge_base_id: base, tokens, suspicions }, { analysis }) {
  const [asked, found] = [analysis.language, citation.source_language];
  // Only between two languages that are known is there a pair.
  const pair = asked === found || !langOf(asked) || !langOf(found) ? languageName(found) : `${languageName(asked)} → ${languageName(found)}`;
  const kinds = [...new Set(suspicions.map((one) => suspicionInWords(one.kind)))];
  return el("div", { class: "chips" },
    chip("", pair, pair.includes("→") ? "accent" : ""),
    base ? chip("in", base) : null,
    citation.updated_at ? chip("updated", el("time", { attributes: { datetime: citation.updated_at } }, day(citation.updated_at))) : null,
    chip("", `${figure(tokens)} tokens`),
    kinds.length ? chip("Careful:", kinds.join(", "), "bad") : null);
}

function sides({ citation, seeds, suspicions, preview }) {
  const spans = [
    ...seeds.map(([start, end]) => ({ start, end, kind: "seed" })),
    ...suspicions.map((one) => ({ start: one.start, end: one.end, kind: "suspicion", label: `${suspicionInWords(one.kind)}: ${one.detail}` })),
  ];
  const drawn = pieces(citation.original_quote, spans, citation.start).map(drawPiece);
  const original = el("div", { class: "side" },
    el("h3", {}, preview ? "Original" : el("span", { class: "hidden" }, "Original"), el("small", {}, `characters ${figure(citation.start)} to ${figure(citation.end)}`)),
    el("blockquote", { class: "quote cut", attributes: { dir: "auto", lang: langOf(citation.source_language) ?? "und" } }, ...drawn));
  if (!preview) return el("div", { class: "sides" }, original);
  const translated = el("div", { class: "side" },
    el("h3", {}, "Machine translation", el("small", {}, `${languageName(preview.target_language)}, by ${preview.translator}; not evidence`)),
    el("p", { class: "quote preview", attributes: { dir: "auto", lang: langOf(preview.target_language) ?? "und" } }, preview.text),
    madeWith(preview));
  return el("div", { class: "sides two" }, original, translated);
}

/** All that is needed to make the same translation again; long, so folded. */
function madeWith(preview) {
  const facts = [["Model", preview.model], ["Version", preview.version], ["Glossary", preview.glossary_version]].filter(([, value]) => value);
  const rows = facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", { class: "mono" }, foreign(value))]);
  return el("details", { class: "made soft" }, el("summary", {}, "Made with"), el("dl", {}, ...rows));
}

/** Where each channel had the passage: the higher, the longer the bar. */
function contributions({ channels }) {
  const found = CHANNEL_ORDER.filter((one) => channels[one]);
  if (!found.length) return null;
  return el("ul", { class: "channels", attributes: { "aria-label": "Found by" } }, ...found.map((name) => {
    const { rank, score } = channels[name];
    const exact = score === undefined ? "" : `, score ${score.toFixed(3)}`;
    return el("li", { class: `channel c-${name}`, attributes: { title: `rank ${rank} in this channel${exact}` } },
      el("span", {}, channelInWords(name)), track(100 / Math.sqrt(rank)), el("span", { class: "soft" }, `#${rank}`));
  }));
}

function foot({ rank, citation, preview }, response, title) {
  const wrong = preview ? "wrong_translation" : "wrong_citation";
  return el("div", { class: "foot" },
    el("span", { class: "uri mono soft" }, foreign(citation.source_uri)),
    el("button", {
      class: "quiet report", attributes: { type: "button" },
      on: { click: () => openReport(response.request_id, rank, `Passage ${rank}: ${title}`, wrong) },
    }, "Report an error", el("span", { class: "hidden" }, ` in passage ${rank}`)));
}
