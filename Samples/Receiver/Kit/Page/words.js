// Shared by the other files of the page: formatted figures, escaped text of clients, elements.

const units = ["KiB", "MiB", "GiB", "TiB"];

/// 102188 -> "99.8 KiB"
export function amount(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) { value /= 1024; unit += 1; }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/// "63 %  ·  1.2 of 4.3 MiB  ·  310.0 KiB/s"
export function progressText(received, total, rate) {
  const parts = [];
  if (total > 0) parts.push(`${Math.floor(received / total * 100)} %`, `${amount(received)} of ${amount(total)}`);
  else parts.push(amount(received));
  if (rate > 0) parts.push(`${amount(Math.round(rate))}/s`);
  return parts.join("  ·  ");
}

export function pixels(width, height) { return `${width} × ${height}`; }

export function duration(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

// Control, line end, bidirectional and zero-width characters. A text node makes markup harmless; these could still make
// a name look like another one (Unicode TR 36, section 3). Joiners are allowed: Persian and emoji need them.
const invisible = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/gu;

/// Text of a client with invisible characters escaped: "\u{202e}".
export function visible(text) {
  return text.replace(invisible, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

/// An element of the page. Text becomes text nodes; attribute names never come from clients.
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}

/// Text of a client, isolated from the direction of the text around it.
export function foreign(text) { return element("bdi", { dir: "auto" }, visible(text)); }

/// The parameters in the fragment of the link, which browsers do not send.
export const fragment = new URLSearchParams(location.hash.slice(1));
