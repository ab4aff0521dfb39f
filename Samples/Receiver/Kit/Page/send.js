// The form: two sides of a card, chosen or dropped, sent with a bar that follows what the browser has handed over.

import { amount, foreign, fragment, pixels, progressText } from "./words.js";

const form = document.getElementById("form");
const submit = document.getElementById("submit");
const cancel = document.getElementById("cancel");
const sending = document.getElementById("sending");
const bar = document.getElementById("bar");
const outcome = document.getElementById("outcome");
const sides = [...document.querySelectorAll(".side")];

form.elements.TOKEN.value = fragment.get("token") ?? "";
form.elements.BUSINESSNO.value = `B-${crypto.randomUUID().slice(0, 8)}`;

function inputOf(side) { return side.querySelector("input"); }

function say(kind, ...words) {
  outcome.className = kind;
  outcome.replaceChildren(...words);
}

// MARK: Choosing

async function isJPEG(file) {
  const start = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return start[0] === 0xff && start[1] === 0xd8 && start[2] === 0xff;
}

/// Shows what was chosen. A canvas, so that the policy of the page need not allow pictures from anywhere else.
async function show(side) {
  const input = inputOf(side);
  const file = input.files[0];
  const [about, canvas] = [side.querySelector(".about"), side.querySelector("canvas")];
  side.querySelector(".remove").hidden = !file;
  side.classList.toggle("full", Boolean(file));
  canvas.hidden = true;
  if (!file) { about.replaceChildren(); return; }
  if (!await isJPEG(file)) {
    input.value = "";
    await show(side);
    about.replaceChildren(foreign(file.name), " is no JPEG file.");
    return;
  }
  about.replaceChildren(foreign(file.name), ` ${amount(file.size)}`);
  try {
    const picture = await createImageBitmap(file);
    if (inputOf(side).files[0] !== file) { picture.close(); return; }
    const scale = Math.min(1, 640 / Math.max(picture.width, picture.height));
    canvas.width = Math.round(picture.width * scale);
    canvas.height = Math.round(picture.height * scale);
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.hidden = false;
    about.append(`, ${pixels(picture.width, picture.height)}`);
    picture.close();
  } catch {
    about.append(", can’t be shown");
  }
}

function put(file, side) {
  const transfer = new DataTransfer();
  transfer.items.add(file);
  inputOf(side).files = transfer.files;
  return show(side);
}

function drop(event, side) {
  event.preventDefault();
  side.classList.remove("over");
  const files = [...event.dataTransfer.files];
  // Two files on one side are both sides, the first one for the side they were dropped on.
  const order = [side, ...sides.filter((other) => other !== side)];
  files.slice(0, order.length).forEach((file, index) => put(file, order[index]));
}

for (const side of sides) {
  inputOf(side).addEventListener("change", () => show(side));
  side.querySelector(".remove").addEventListener("click", () => {
    inputOf(side).value = "";
    show(side);
    inputOf(side).focus();
  });
  side.addEventListener("dragover", (event) => { event.preventDefault(); side.classList.add("over"); });
  side.addEventListener("dragleave", () => side.classList.remove("over"));
  side.addEventListener("drop", (event) => drop(event, side));
}
// A file that misses its place must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());

// MARK: Sending

let request = null;

function chosen() {
  return sides.map((side) => ({ name: inputOf(side).name, file: inputOf(side).files[0] })).filter((one) => one.file);
}

function setBusy(isBusy) {
  submit.disabled = isBusy;
  cancel.hidden = !isBusy;
  for (const control of form.elements) if (control !== cancel && control !== submit) control.disabled = isBusy;
}

function follow(event, began) {
  const seconds = (performance.now() - began) / 1000;
  bar.value = event.loaded / event.total * 100;
  document.getElementById("amount").textContent =
    event.loaded < event.total
      ? progressText(event.loaded, event.total, event.loaded / Math.max(seconds, 0.001))
      : "100 %  ·  waiting for the answer";
}

/// Posts a form and gives the status and the answer.
function post(data) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => follow(event, began));
    request.addEventListener("load", () => {
      try { resolve(JSON.parse(request.responseText)); } catch { reject(new Error("The answer is no JSON.")); }
    });
    request.addEventListener("error", () => reject(new Error("The Receiver can’t be reached.")));
    request.addEventListener("abort", () => reject(new Error("Cancelled.")));
    request.open("POST", form.action);
    request.send(data);
  });
}

async function digest(file) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// Compares what the Receiver says it has with what is on this side.
async function check(answer, files) {
  if (answer.RETCODE !== "000000") throw new Error(`Refused (${answer.RETCODE}): ${answer.RETMSG}`);
  for (const [index, { file }] of files.entries()) {
    const stored = answer.DATA.FILES[index];
    if (!stored || stored.sha256 !== await digest(file)) throw new Error("Other bytes arrived than were sent.");
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const files = chosen();
  if (files.length === 0) {
    say("bad", "Choose at least one side first.");
    inputOf(sides[0]).focus();
    return;
  }
  const data = new FormData();
  for (const name of ["TOKEN", "BUSINESSNO", "DOCTYPE"]) data.append(name, form.elements[name].value);
  for (const { name, file } of files) data.append(name, file);
  say("", "");
  bar.value = 0;
  sending.hidden = false;
  setBusy(true);
  cancel.focus();
  try {
    const answer = await post(data);
    await check(answer, files);
    say("good", files.length === 1 ? "Stored: the same bytes as here." : "Both sides are stored: the same bytes as here.");
  } catch (error) {
    say("bad", foreign(error.message));
  }
  sending.hidden = true;
  setBusy(false);
  submit.focus();
});

cancel.addEventListener("click", () => request?.abort());
document.documentElement.dataset.ready = "yes";
