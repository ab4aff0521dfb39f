// Posts the form that all senders post: send.mjs URL CONTENT.

import { readFileSync } from "node:fs";

const [url, path] = process.argv.slice(2);
const content = readFileSync(path);
const form = new FormData();
for (const [name, value] of [["TOKEN", "a b&c=d"], ["字段", "值\r\n第二行"], ['a"b;c', ""], ["TOKEN", "again"]]) {
  form.append(name, value);
}
form.append("FILE", new Blob([content], { type: "image/jpeg" }), "身份证正面.jpg");
form.append("FILE", new Blob([content], { type: "application/octet-stream" }), 'a"b;c.bin');
const answer = await fetch(url, { method: "POST", body: form });
if (!answer.ok) throw new Error(`${answer.status}`);
