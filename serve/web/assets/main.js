// Starts the page: tabs, dialogs, and the three pages behind the tabs.
import { byId } from "./dom.js";
import { startIndexes } from "./indexes.js";
import { startLocalize } from "./localize.js";
import { startReports } from "./report.js";
import { startSearch } from "./search.js";
import { startSession } from "./session.js";

const NAMES = ["search", "localize", "indexes"];

function select(name, { focus = false } = {}) {
  for (const one of NAMES) {
    const tab = byId(`tab-${one}`);
    const chosen = one === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`panel-${one}`).hidden = !chosen;
    if (chosen && focus) tab.focus();
  }
  document.title = `${name.charAt(0).toUpperCase()}${name.slice(1)} · Babelray`;
  document.dispatchEvent(new CustomEvent("page", { detail: name }));
}

function startTabs() {
  const current = () => NAMES.find((one) => byId(`tab-${one}`).getAttribute("aria-selected") === "true");
  for (const name of NAMES) {
    byId(`tab-${name}`).addEventListener("click", () => {
      history.replaceState(null, "", `#${name}`);
      select(name);
    });
  }
  document.querySelector('[role="tablist"]').addEventListener("keydown", (event) => {
    const at = NAMES.indexOf(current());
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: NAMES.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = NAMES.at(to % NAMES.length);
    history.replaceState(null, "", `#${name}`);
    select(name, { focus: true });
  });
  const fromAddress = () => select(NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : "search");
  addEventListener("hashchange", () => {
    if (NAMES.includes(location.hash.slice(1))) fromAddress();
  });
  fromAddress();
}

for (const button of document.querySelectorAll("dialog [data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
startSession();
startReports();
startSearch();
startLocalize();
startIndexes();
startTabs();
