// The localize page: JSON in, terms found, JSON out, and whether each term was honoured.
import { api, Problem } from "./api.js";
import { byId, chip, el, fill, foreign, problemNotice, track } from "./dom.js";
import { openReport } from "./report.js";
import { openToken } from "./session.js";
import { pieces } from "./spans.js";
import { count, failureInWords, langOf, languageName } from "./words.js";

const EXAMPLE = { title: "Welcome to Orchard, {name}!", save: "Save draft", hint: "Your API key is stored in the <b>vault</b>." };
const LOCALES = ["en", "ar", "de", "es", "es-MX", "fr", "it", "ja", "ko", "pt", "pt-BR", "ru", "zh-CN", "zh-TW"];
const LOOKS = 20;
const MATCHED = 200;
const BLAMED = { retrieval: "the term was not given to the translator", translator: "the translator had the term" };
let running = null;

async function localize() {
  const body = { payload: byId("payload").value, source: byId("source-locale").value.trim(), target: byId("target-locale").value.trim() };
  const status = byId("localize-status");
  try {
    JSON.parse(body.payload);
  } catch (error) {
    status.textContent = "";
    fill(byId("localized"), problemNotice({ title: "This is not JSON", message: error.message }));
    return;
  }
  running?.abort();
  const mine = (running = new AbortController());
  status.textContent = "Localizing";
  byId("localized").classList.add("busy");
  try {
    const answer = await api.localize(body, mine.signal);
    const terms = await termsOf(answer, body, mine.signal);
    show(answer, terms, new Map());
    const done = answer.strings.filter((one) => one.output !== null).length;
    status.textContent = `${done} of ${count(answer.strings.length, "string")} localized`;
    await judged(answer, terms, mine.signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    status.textContent = error.title;
    const login = el("button", { class: "quiet", attributes: { type: "button" }, on: { click: openToken } }, "Enter a token");
    fill(byId("localized"), problemNotice(error, error.status === 401 ? el("p", { class: "row" }, login) : null));
  } finally {
    if (running === mine) byId("localized").classList.remove("busy");
  }
}

/** Position -> what the glossary says of a string. Strings past the service's limit go without renderings. */
async function termsOf(answer, { source, target }, signal) {
  const asked = answer.strings.slice(0, MATCHED);
  if (!asked.length) return new Map();
  try {
    const found = await api.match({ strings: asked.map((one) => one.source), source, target }, signal);
    return new Map(asked.map((one, n) => [one.record_id, found.strings[n]]));
  } catch (error) {
    if (error instanceof Problem) return new Map();
    throw error;
  }
}

/** Scoring runs after localizing: look until it is there. */
async function judged(answer, terms, signal) {
  for (let n = 0; n < LOOKS; n += 1) {
    const score = await api.score(answer.request_id, signal);
    if (score.scored) {
      show(answer, terms, new Map(score.strings.map((one) => [one.record_id, one])), true);
      return;
    }
    if (score.state !== "waiting") {
      byId("localized").append(el("p", { class: "soft" }, score.state === "skipped"
        ? "Not scored: too many requests were waiting for their scores."
        : "Not scored: the scorer failed. The service's log says why."));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 150 * (n + 1)));
  }
}

function show(answer, terms, scores, scored = false) {
  fill(byId("localized"),
    scored ? adherence([...scores.values()]) : null,
    output(answer),
    el("section", { class: "section" }, el("h2", {}, "Strings"),
      el("p", { class: "soft" }, "Terms that bind the translation are marked in the source; dotted ones are hints that bind nobody."),
      ...answer.strings.map((one) => drawString(one, terms.get(one.record_id), scores.get(one.record_id)))));
}

function adherence(scores) {
  const verdicts = scores.flatMap((one) => one.verdicts);
  if (!verdicts.length) return el("p", { class: "soft" }, "No term of the glossary stands in these strings, so there is nothing to adhere to.");
  const kept = verdicts.filter((one) => one.status === "applied").length;
  return el("div", { class: "gauge" }, el("strong", {}, "Adherence"), track((kept / verdicts.length) * 100),
    el("span", { attributes: { id: "adherence" } }, `${kept} of ${count(verdicts.length, "term")} honoured`));
}

function output(answer) {
  if (answer.payload === null) {
    return el("div", { class: "notice" }, el("h2", {}, "No translator is set up"), el("p", {}, "The terms that would bind a translation are below; there is no JSON to give back."));
  }
  const copy = el("button", { class: "quiet", attributes: { type: "button" } }, "Copy");
  copy.addEventListener("click", async () => {
    const done = await navigator.clipboard?.writeText(answer.payload).then(() => true, () => false);
    copy.textContent = done ? "Copied" : "Copying is not allowed here";
  });
  return el("section", { class: "section", attributes: { "aria-label": "Localized JSON" } },
    el("div", { class: "index-head" }, el("h2", {}, "JSON out"), el("span", { class: "row" }, copy, el("button", {
      class: "quiet", attributes: { type: "button" },
      on: { click: () => openReport(answer.request_id, null, "The localized JSON", "wrong_translation") },
    }, "Report an error"))),
    el("pre", { class: "out", attributes: { id: "payload-out", dir: "auto", tabindex: 0 } }, answer.payload));
}

function drawString(one, found, score) {
  const source = el("p", { class: "text", attributes: { dir: "auto", lang: langOf(one.source_locale) } }, ...marked(one));
  const target = one.output === null
    ? el("p", { class: "text none" }, failureInWords(one.failure ?? "unreadable"), one.detail ? el("span", { class: "soft" }, ` ${one.detail}`) : null)
    : el("p", { class: "text", attributes: { dir: "auto", lang: langOf(one.target_locale) } }, one.output);
  return el("article", { class: "card" },
    el("div", { class: "chips" }, el("span", { class: "mono" }, foreign(one.pointer || "/")), chip("mode", one.mode),
      one.translator ? chip("by", [one.translator.translator, one.translator.model].filter(Boolean).join(" ")) : null,
      ...(score?.damages ?? []).map((damage) => chip("Damaged", damage, "bad")),
      ...(score?.bent ?? []).map((term) => chip("Bent to a term that is not there", term, "warn"))),
    el("div", { class: "pair" }, source, target),
    termList(one, found, score));
}

function marked(one) {
  const contested = one.contested.length > 0;
  const spans = [
    ...one.retrieved.filter((t) => t.end > t.start).map((t) => ({ ...t, kind: "term" })),
    ...one.hints.map((t) => ({ ...t, kind: "hint" })),
  ];
  return pieces(one.source, spans).map((piece) => {
    const kind = piece.spans.some((s) => s.kind === "term") ? "term" : piece.spans.length ? "hint" : null;
    if (!kind) return document.createTextNode(piece.text);
    return el("mark", { class: kind, attributes: { title: `${kind} ${piece.spans.map((s) => s.term_id).join(", ")}${contested ? ", others are contested" : ""}` } }, piece.text);
  });
}

function termList(one, found, score) {
  const verdicts = new Map((score?.verdicts ?? []).map((v) => [v.term_id, v]));
  const renderings = new Map((found?.enforced ?? []).map((m) => [m.term_id, m]));
  const target = langOf(one.target_locale);
  const given = [...new Map(one.retrieved.map((t) => [t.term_id, t])).values()].map((term) => {
    const match = renderings.get(term.term_id);
    const keep = match?.class === "non_translatable";
    return el("li", {}, foreign(term.surface, langOf(one.source_locale)),
      match ? el("span", { class: "arrow" }, keep ? "stays" : "→") : null,
      match ? el("strong", {}, foreign(match.rendering, keep ? null : target)) : null,
      el("span", { class: "soft" }, [term.how, term.rule].filter(Boolean).join(", ").replaceAll("_", " ")),
      verdict(verdicts.get(term.term_id)));
  });
  const known = new Set(one.retrieved.map((t) => t.term_id));
  const missed = [...verdicts.values()].filter((v) => !known.has(v.term_id)).map((v) => el("li", {}, foreign(v.source), verdict(v)));
  const contested = (found?.contested ?? []).map((group) => el("li", {}, chip("Contested", "", "warn"),
    ...group.map((m) => foreign(`${m.surface} → ${m.rendering}`))));
  const hints = one.hints.map((h) => el("li", {}, chip("hint", ""), foreign(h.surface), el("span", { class: "soft" }, `${h.term_id}, likeness ${h.score.toFixed(2)}`)));
  const rows = [...given, ...missed, ...contested, ...hints];
  return rows.length ? el("ul", { class: "terms", attributes: { "aria-label": "Terms" } }, ...rows) : null;
}

function verdict(found) {
  if (!found) return null;
  const why = BLAMED[found.blame];
  const kind = found.status === "applied" ? "good" : found.status === "partial" ? "warn" : "bad";
  return chip("", `${found.status}${why ? `: ${why}` : ""}`, kind);
}

export function startLocalize() {
  byId("payload").value = JSON.stringify(EXAMPLE, null, 2);
  fill(byId("locales"), ...LOCALES.map((one) => el("option", { attributes: { value: one } }, languageName(one))));
  const form = byId("localize-form");
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    localize();
  });
  byId("payload").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}
