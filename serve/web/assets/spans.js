// Cuts a text at the borders of spans. The service counts code points, JavaScript counts UTF-16 units.
import { el } from "./dom.js";

/**
 * @param {string} text
 * @param {Array<{start: number, end: number, kind: string}>} spans in code points; they may overlap
 * @param {number} offset position of the text's first code point
 * @returns {Array<{text: string, spans: Array}>} pieces that together are the text
 */
export function pieces(text, spans, offset = 0) {
  const points = Array.from(text);
  const inside = spans
    .map((one) => ({ ...one, start: clamp(one.start - offset, points.length), end: clamp(one.end - offset, points.length) }))
    .filter((one) => one.start < one.end);
  const borders = new Set([0, points.length]);
  for (const one of inside) borders.add(one.start).add(one.end);
  const sorted = [...borders].sort((a, b) => a - b);
  const cut = [];
  for (let n = 0; n + 1 < sorted.length; n += 1) {
    const [start, end] = [sorted[n], sorted[n + 1]];
    cut.push({
      text: points.slice(start, end).join(""),
      spans: inside.filter((one) => one.start <= start && end <= one.end),
    });
  }
  return cut;
}

const clamp = (position, most) => Math.max(0, Math.min(most, position));

const INVISIBLE = /^[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]+$/u;

/** A piece of a quote as a node: seeds are marked, what may deceive is underlined and said. */
export function drawPiece(piece) {
  const suspicion = piece.spans.find((one) => one.kind === "suspicion");
  const seed = piece.spans.some((one) => one.kind === "seed");
  let drawn = document.createTextNode(piece.text);
  if (suspicion) {
    const code = INVISIBLE.test(piece.text)
      ? Array.from(piece.text).slice(0, 4).map((one) => `U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ")
      : null;
    drawn = el("span", { class: "suspicion", data: { code }, attributes: { title: suspicion.label } }, drawn);
  }
  return seed ? el("mark", { class: "seed" }, drawn) : drawn;
}
