// Parses forms with Node's built-in `Response.formData()`.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const forms = [];
for (const { id, file, contentType } of JSON.parse(readFileSync(join(folder, "batch.json"), "utf8"))) {
  try {
    const body = readFileSync(join(folder, file));
    const form = await new Response(body, { headers: { "content-type": contentType } }).formData();
    const parts = [];
    for (const [name, value] of form) {
      const isText = typeof value === "string";
      const content = isText ? Buffer.from(value) : Buffer.from(await value.arrayBuffer());
      parts.push({
        name,
        fileName: isText ? null : value.name,
        contentType: isText ? null : value.type,
        content: content.toString("base64"),
      });
    }
    forms.push({ id, parts });
  } catch (error) {
    forms.push({ id, refusal: `${error}` });
  }
}
process.stdout.write(JSON.stringify({ version: `Node ${process.version}`, forms }));
