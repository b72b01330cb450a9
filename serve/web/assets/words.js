// Codes of the service in words for a person.

const DEGRADED = {
  lang_low_confidence: "It is unclear which language the query is in.",
  translated_channel_skipped: "The query was not translated, so pages in other languages were found by meaning alone.",
  anchor_validation_failed: "A rewording of the query lost a number, a name or a code and was thrown away.",
  glossary_ambiguous: "A name in the query may mean several things.",
  dense_unavailable: "The search by meaning did not answer, so only words were searched.",
  rerank_unavailable: "The results were not looked at a second time.",
  rerank_language_unsupported: "Some results are in languages that the second look does not know.",
  preview_translation_failed: "Some passages have no translation.",
  analyzer_changed: "The index was built with other word rules than this service has; words may be missed.",
  plan_not_kept: "The plan of this search could not be kept for later.",
  scope_resolution_failed: "What you may read could not be settled.",
};
export const degradedInWords = (reason) => DEGRADED[reason] ?? reason.replaceAll("_", " ");

const CHANNELS = {
  exact: "exact codes",
  original: "the query's words",
  general: "words, any language",
  translated: "translated words",
  dense: "meaning",
  alias: "other names",
};
export const channelInWords = (name) => CHANNELS[name] ?? name;
export const CHANNEL_ORDER = Object.keys(CHANNELS);

const SUSPICIONS = {
  confusable: "letters that look like others",
  mixed_script: "a word of mixed scripts",
  hidden_character: "hidden characters",
  instruction: "an instruction to a model",
  encoded_instruction: "a hidden instruction to a model",
};
export const suspicionInWords = (kind) => SUSPICIONS[kind] ?? kind.replaceAll("_", " ");

const FAILURES = {
  no_translator: "No translator is set up for this pair; the terms were found all the same.",
  upstream: "The translator did not answer.",
  boundary: "This text may not leave for the translator's region.",
  protected_damaged: "The translator damaged a placeholder or a tag.",
  term_contested: "Two terms claim the same words.",
  too_long: "The string is too long.",
  unreadable: "The translator's answer could not be read.",
};
export const failureInWords = (name) => FAILURES[name] ?? name.replaceAll("_", " ");

const languages = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });

/** The name of a BCP 47 tag, or the tag where nothing is known. */
export function languageName(tag) {
  if (!tag || tag === "und") return "unknown language";
  if (tag === "zxx") return "code";
  try {
    return languages.of(tag);
  } catch {
    return tag;
  }
}

/** A tag for `lang` attributes; null where the language is not known. */
export const langOf = (tag) => (!tag || tag === "und" || tag === "zxx" ? null : tag);

export const count = (number, one, many = `${one}s`) => `${figure(number)} ${number === 1 ? one : many}`;
export const figure = (number) => number.toLocaleString("en");
export const milliseconds = (value) => `${value < 10 ? value.toFixed(1) : figure(Math.round(value))} ms`;
export const percent = (share) => `${Number((share * 100).toFixed(1))}%`;

const dates = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const moments = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
export const day = (iso) => dates.format(new Date(iso));
export const moment = (iso) => moments.format(new Date(iso));
