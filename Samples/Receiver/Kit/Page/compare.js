// Before and after: the received image and the compressed one, overlaid with a slider.

import { amount, duration, element, pixels, visible } from "./words.js";

function comparison(url) {
  const frame = element("div", { class: "stage" },
    element("img", { class: "before", src: `${url}/arrived.jpg`, alt: "As it arrived" }),
    element("img", { class: "after", src: `${url}/small.jpg`, alt: "Under the limit" }),
    element("span", { class: "tag left", "aria-hidden": "true" }, "arrived"),
    element("span", { class: "tag right", "aria-hidden": "true" }, "small"),
    element("span", { class: "edge", "aria-hidden": "true" }));
  const split = element("input", { type: "range", min: "0", max: "100", value: "50", class: "split",
    "aria-label": "Boundary between the two images" });
  const move = () => {
    frame.style.setProperty("--split", `${split.value}%`);
    split.setAttribute("aria-valuetext", `${split.value} % as it arrived, ${100 - split.value} % small`);
  };
  split.addEventListener("input", move);
  move();
  frame.append(split);
  return frame;
}

function scale(label, image, share) {
  const bar = element("span", { class: "weight", "aria-hidden": "true" });
  bar.style.setProperty("--share", String(share));
  return element("div", { class: "scale" },
    element("span", { class: "scale-name" }, label),
    element("span", {}, `${amount(image.bytes)}, ${pixels(image.width, image.height)}`), bar);
}

function caption(facts) {
  const saved = Math.round((1 - facts.small.bytes / facts.arrived.bytes) * 100);
  const result = facts.isUntouched ? "Not recompressed" : `${saved} % smaller in ${duration(facts.milliseconds)}`;
  const stripped = facts.stripped.length > 0 ? ` Removed: ${visible(facts.stripped.join(", "))}.` : "";
  return `${result}; the limit is ${amount(facts.limit)}.${stripped}`;
}

async function fill(figure, url) {
  try {
    const response = await fetch(`${url}/facts.json`);
    const facts = await response.json();
    if (!response.ok) throw new Error(facts.message);
    figure.replaceChildren(
      comparison(url),
      element("figcaption", {},
        scale("arrived", facts.arrived, 1),
        scale("small", facts.small, Math.min(1, facts.small.bytes / facts.arrived.bytes)),
        element("p", { class: "faint" }, caption(facts))));
  } catch (error) {
    figure.replaceChildren(element("p", { class: "faint" }, `No compressed image: ${visible(error.message)}`));
  }
  figure.removeAttribute("aria-busy");
}

const urls = new WeakMap();

// Images are requested when they come near the window.
const observer = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((each) => each.isIntersecting)) {
    observer.unobserve(entry.target);
    fill(entry.target, urls.get(entry.target));
  }
}, { rootMargin: "600px" });

/// A figure that is filled when it comes near the window and the Receiver has rendered the images.
export function compare(url) {
  const figure = element("figure", { class: "compare", "aria-busy": "true" },
    element("p", { class: "faint" }, "Compressing"));
  urls.set(figure, url);
  observer.observe(figure);
  return figure;
}
