// A report about a wrong answer.
import { api } from "./api.js";
import { byId } from "./dom.js";

let about = null;

/**
 * @param {string} requestId of the answer
 * @param {number|null} passage its rank, or null for the whole answer
 * @param {string} name what a person calls it
 * @param {string} kind chosen beforehand
 */
export function openReport(requestId, passage, name, kind = "wrong_citation") {
  about = { request_id: requestId, passage };
  const form = byId("report-form");
  form.reset();
  form.elements.kind.value = kind;
  form.querySelector('[type="submit"]').disabled = false;
  byId("report-about").textContent = name;
  byId("report-status").textContent = "";
  byId("report-dialog").showModal();
}

async function send(event) {
  event.preventDefault();
  const form = event.target;
  const [status, button] = [byId("report-status"), form.querySelector('[type="submit"]')];
  button.disabled = true;
  status.textContent = "Sending";
  try {
    await api.feedback({ ...about, kind: form.elements.kind.value, comment: byId("report-comment").value.trim() });
    status.textContent = "Thank you. The report is kept.";
    setTimeout(() => byId("report-dialog").close(), 1200);
  } catch (problem) {
    status.textContent = `${problem.title}: ${problem.message}`;
    button.disabled = false;
  }
}

export function startReports() {
  byId("report-form").addEventListener("submit", send);
}
