// The form: two sides of a card, chosen or dropped, and sent with a progress bar.

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

function setOutcome(kind, ...parts) {
  outcome.className = kind;
  outcome.replaceChildren(...parts);
}

// MARK: Choosing

async function isJPEG(file) {
  const start = new Uint8Array(await file.slice(0, 3).arrayBuffer());
  return start[0] === 0xff && start[1] === 0xd8 && start[2] === 0xff;
}

/// Shows the chosen image. A canvas needs no exception in the Content-Security-Policy, unlike a blob URL.
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
    about.replaceChildren(foreign(file.name), " is not a JPEG file.");
    return;
  }
  about.replaceChildren(foreign(file.name), ` ${amount(file.size)}`);
  try {
    const image = await createImageBitmap(file);
    if (inputOf(side).files[0] !== file) { image.close(); return; }
    const scale = Math.min(1, 640 / Math.max(image.width, image.height));
    canvas.width = Math.round(image.width * scale);
    canvas.height = Math.round(image.height * scale);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.hidden = false;
    about.append(`, ${pixels(image.width, image.height)}`);
    image.close();
  } catch {
    about.append(", cannot be shown");
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
  // If two files are dropped, the first one is for this side and the second for the other.
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
// A file that is dropped elsewhere must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());

// MARK: Sending

let request = null;

function chosen() {
  return sides.map((side) => ({ name: inputOf(side).name, file: inputOf(side).files[0] })).filter((side) => side.file);
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
      : "100 %  ·  waiting for the response";
}

/// Posts a form and returns the decoded response.
function post(data) {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    request = new XMLHttpRequest();
    request.upload.addEventListener("progress", (event) => follow(event, began));
    request.addEventListener("load", () => {
      try { resolve(JSON.parse(request.responseText)); } catch { reject(new Error("The response is not valid JSON.")); }
    });
    request.addEventListener("error", () => reject(new Error("The Receiver cannot be reached. Check that it is running.")));
    request.addEventListener("abort", () => reject(new Error("Cancelled.")));
    request.open("POST", form.action);
    request.send(data);
  });
}

async function digest(file) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// Compares the digests of the stored files with those of the chosen ones.
async function check(response, files) {
  if (response.RETCODE !== "000000") throw new Error(`Rejected (${response.RETCODE}): ${response.RETMSG}`);
  for (const [index, { file }] of files.entries()) {
    const stored = response.DATA.FILES[index];
    if (!stored || stored.sha256 !== await digest(file)) throw new Error("The stored bytes differ from the sent ones.");
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const files = chosen();
  if (files.length === 0) {
    setOutcome("bad", "Choose at least one side first.");
    inputOf(sides[0]).focus();
    return;
  }
  const data = new FormData();
  for (const name of ["TOKEN", "BUSINESSNO", "DOCTYPE"]) data.append(name, form.elements[name].value);
  for (const { name, file } of files) data.append(name, file);
  setOutcome("", "");
  bar.value = 0;
  sending.hidden = false;
  setBusy(true);
  cancel.focus();
  try {
    const response = await post(data);
    await check(response, files);
    setOutcome("good", files.length === 1 ? "Stored, with identical bytes." : "Both sides are stored, with identical bytes.");
  } catch (error) {
    setOutcome("bad", foreign(error.message));
  }
  sending.hidden = true;
  setBusy(false);
  submit.focus();
});

cancel.addEventListener("click", () => request?.abort());
document.documentElement.dataset.ready = "yes";
