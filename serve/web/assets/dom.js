// Builds elements. Text goes in as text nodes only: what the page shows was written by strangers.

/**
 * @param {string} tag
 * @param {Object} [options] class, attributes (null leaves one out), data, on (event -> listener)
 * @param {...(Node|string|number|null)} children null and empty text are left out
 */
export function el(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  const { class: names, attributes = {}, data = {}, on = {} } = options;
  if (names) made.className = names;
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  for (const [name, value] of Object.entries(data)) {
    if (value !== null && value !== undefined) made.dataset[name] = String(value);
  }
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== "").map(node));
  return made;
}

function node(one) {
  return one instanceof Node ? one : document.createTextNode(String(one));
}

export const byId = (id) => document.getElementById(id);

/** Put these children in the place of all there are. */
export function fill(place, ...children) {
  place.replaceChildren(...children.flat().filter(Boolean));
}

/** A small rounded label: a faint name and what it says. */
export function chip(name, value, kind = "") {
  const said = value instanceof Node ? value : el("bdi", {}, value);
  return el("span", { class: `chip ${kind}`.trim() }, name ? el("b", {}, name) : null, value === "" ? null : said);
}

/** Words of a document or a user, of whatever direction, that must not reorder what is around them. */
export function foreign(text, language = null, options = {}) {
  return el("bdi", { ...options, attributes: { dir: "auto", lang: language, ...options.attributes } }, text);
}

/** A table that scrolls by itself where it is too wide, also by keyboard. */
export function table(caption, columns, rows) {
  const head = columns.map((one) => el("th", { class: one.class ?? "", attributes: { scope: "col" } }, one.name));
  const drawn = el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...head)),
    el("tbody", {}, ...rows));
  return el("div", { class: "scroll", attributes: { tabindex: 0, role: "region", "aria-label": caption } }, drawn);
}

/** A bar whose length says something that also stands beside it in figures. */
export function track(percent, kind = "") {
  const inner = el("span", { class: "fill" });
  // A property of the style object: the page's policy forbids style attributes.
  inner.style.setProperty("--share", `${Math.max(0, Math.min(100, percent))}%`);
  return el("span", { class: `track ${kind}`.trim(), attributes: { "aria-hidden": "true" } }, inner);
}

export function problemNotice(problem, extra = null) {
  return el("div", { class: "notice bad", attributes: { role: "alert" } },
    el("h2", {}, problem.title),
    el("p", {}, problem.message),
    problem.requestId ? el("p", { class: "soft" }, `Request ${problem.requestId}`) : null,
    extra);
}
