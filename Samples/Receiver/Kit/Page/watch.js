// The live list of all uploads to the Receiver.

import { compare } from "./compare.js";
import { amount, duration, element, foreign, fragment, progressText, visible } from "./words.js";

const key = fragment.get("watch");
const base = `/watch/${encodeURIComponent(key ?? "")}`;
const link = document.getElementById("link");
const list = document.getElementById("list");
const news = document.getElementById("news");
const maxRows = 50;

const labels = { arriving: "Arriving", stored: "Stored", rejected: "Rejected", interrupted: "Interrupted" };

document.getElementById("command").textContent =
  `waybill post ${location.origin}/upload -F TOKEN=specimen-token -F 'FILE=@card.jpg' --limit-rate 100K`;

function setLinkState(state, text) {
  link.className = `link ${state}`;
  link.textContent = text;
}

// MARK: One upload

function title(arrival) {
  const names = arrival.files.map((file) => file.fileName || file.name);
  if (names.length === 0) return ["A form"];
  return names.flatMap((name, index) => (index > 0 ? [", ", foreign(name)] : [foreign(name)]));
}

function details(arrival) {
  const pairs = element("dl", { class: "pairs" });
  for (const field of arrival.fields) {
    pairs.append(element("div", {}, element("dt", {}, foreign(field.name)), element("dd", {}, foreign(field.value))));
  }
  return arrival.fields.length > 0 ? pairs : null;
}

function fileRow(arrival, file, index) {
  const place = `${base}/arrivals/${arrival.id}/${index}`;
  return element(
    "li", { class: "file" },
    element("p", { class: "file-name" }, element("span", { class: "part" }, foreign(file.name)), foreign(file.fileName)),
    file.width ? compare(place) : null,
    element("p", { class: "faint" }, foreign(file.type), `  ·  ${amount(file.bytes)}`),
    element("p", { class: "digest" }, "SHA-256 ", element("code", {}, file.sha256)),
    element("p", {}, element("a", { href: `${place}/file`, download: "" }, "Download")));
}

/// The list item of one upload.
class Row {
  constructor(arrival) {
    this.heading = element("h3", {});
    this.badge = element("span", { class: "badge" });
    this.sub = element("p", { class: "faint" });
    this.bar = element("progress", { max: "100", value: "0" });
    this.amount = element("p", { class: "amount" });
    this.rest = element("div", { class: "rest" });
    this.node = element(
      "li", { class: "panel arrival", "data-id": arrival.id },
      element("div", { class: "top" }, this.heading, this.badge), this.sub, this.bar, this.amount, this.rest);
    this.state = "";
    this.names = null;
  }

  update(arrival) {
    const names = JSON.stringify(arrival.files.map((file) => file.fileName));
    if (names !== this.names) {
      this.names = names;
      this.heading.replaceChildren(...title(arrival));
      this.bar.setAttribute("aria-label", visible(arrival.files[0]?.fileName ?? "A form"));
    }
    if (arrival.state === "arriving") {
      if (arrival.total > 0) this.bar.value = arrival.received / arrival.total * 100;
      else this.bar.removeAttribute("value");
      this.amount.textContent = progressText(arrival.received, arrival.total, arrival.bytesPerSecond);
    }
    if (arrival.state !== this.state) this.changeState(arrival);
  }

  changeState(arrival) {
    this.state = arrival.state;
    this.node.dataset.state = arrival.state;
    this.badge.textContent = labels[arrival.state];
    const agent = foreign(arrival.agent || "unnamed client");
    const time = new Date(arrival.began).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    this.sub.replaceChildren(time, "  ·  ", agent);
    if (arrival.state === "arriving") { news.replaceChildren("Arriving: ", ...title(arrival)); return; }
    this.bar.remove();
    this.amount.remove();
    agent.before(`${amount(arrival.received)} in ${duration(arrival.milliseconds)}  ·  `);
    this.rest.replaceChildren();
    if (arrival.message) this.rest.append(element("p", { class: "bad" }, foreign(arrival.message)));
    const pairs = details(arrival);
    if (pairs) this.rest.append(pairs);
    if (arrival.files.length > 0 && arrival.state === "stored") {
      this.rest.append(
        element("ul", { class: "files" }, ...arrival.files.map((file, index) => fileRow(arrival, file, index))));
    }
    news.replaceChildren(`${labels[arrival.state]}: `, ...title(arrival));
  }
}

// MARK: All uploads

const rows = new Map();

function update(arrival) {
  let row = rows.get(arrival.id);
  if (!row) {
    row = new Row(arrival);
    rows.set(arrival.id, row);
    list.prepend(row.node);
  }
  row.update(arrival);
  while (rows.size > maxRows) {
    const [oldest] = rows.keys();
    rows.get(oldest).node.remove();
    rows.delete(oldest);
  }
  document.getElementById("empty").hidden = true;
}

function replaceAll(arrivals) {
  const ids = new Set(arrivals.map((arrival) => arrival.id));
  for (const [id, row] of rows) if (!ids.has(id)) { row.node.remove(); rows.delete(id); }
  arrivals.forEach(update);
  document.getElementById("empty").hidden = rows.size > 0;
}

function watch() {
  const source = new EventSource(`${base}/events`);
  source.addEventListener("all", (event) => { setLinkState("live", "Live"); replaceAll(JSON.parse(event.data)); });
  source.addEventListener("some", (event) => JSON.parse(event.data).forEach(update));
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setLinkState("off", "This link is from an earlier run. Open the new one.");
    else setLinkState("waiting", "Reconnecting");
  });
}

// The fragment is the key, so this link must not replace it.
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("arrivals").focus();
});
// Another link was opened in this tab: reload.
addEventListener("hashchange", () => { if (new URLSearchParams(location.hash.slice(1)).has("watch")) location.reload(); });
if (key) watch();
else setLinkState("off", "Not live. Open the link that the Receiver printed.");
