// Before and after: a picture as it arrived beside the one that fits the limit, one above the other with a slider.

import { amount, duration, element, pixels, visible } from "./words.js";

function stage(place) {
  const alike = element("div", { class: "stage" },
    element("img", { class: "before", src: `${place}/arrived.jpg`, alt: "As it arrived" }),
    element("img", { class: "after", src: `${place}/small.jpg`, alt: "Under the limit" }),
    element("span", { class: "tag left", "aria-hidden": "true" }, "arrived"),
    element("span", { class: "tag right", "aria-hidden": "true" }, "small"),
    element("span", { class: "edge", "aria-hidden": "true" }));
  const split = element("input", { type: "range", min: "0", max: "100", value: "50", class: "split",
    "aria-label": "Where the one picture ends and the other begins" });
  const move = () => {
    alike.style.setProperty("--split", `${split.value}%`);
    split.setAttribute("aria-valuetext", `${split.value} % as it arrived, ${100 - split.value} % small`);
  };
  split.addEventListener("input", move);
  move();
  alike.append(split);
  return alike;
}

function scale(label, one, share) {
  const bar = element("span", { class: "weight", "aria-hidden": "true" });
  bar.style.setProperty("--share", String(share));
  return element("div", { class: "scale" },
    element("span", { class: "scale-name" }, label),
    element("span", {}, `${amount(one.bytes)}, ${pixels(one.width, one.height)}`), bar);
}

function remark(facts) {
  const saved = Math.round((1 - facts.small.bytes / facts.arrived.bytes) * 100);
  const work = facts.isUntouched ? "The same picture, nothing lost" : `${saved} % smaller in ${duration(facts.milliseconds)}`;
  const stripped = facts.stripped.length > 0 ? ` Taken out: ${visible(facts.stripped.join(", "))}.` : "";
  return `${work}; the limit is ${amount(facts.limit)}.${stripped}`;
}

async function fill(figure, place) {
  try {
    const answer = await fetch(`${place}/facts.json`);
    const facts = await answer.json();
    if (!answer.ok) throw new Error(facts.message);
    figure.replaceChildren(
      stage(place),
      element("figcaption", {},
        scale("arrived", facts.arrived, 1),
        scale("small", facts.small, Math.min(1, facts.small.bytes / facts.arrived.bytes)),
        element("p", { class: "faint" }, remark(facts))));
  } catch (error) {
    figure.replaceChildren(element("p", { class: "faint" }, `No small picture: ${visible(error.message)}`));
  }
  figure.removeAttribute("aria-busy");
}

const places = new WeakMap();

// Pictures are made when somebody is about to see them.
const eyes = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((one) => one.isIntersecting)) {
    eyes.unobserve(entry.target);
    fill(entry.target, places.get(entry.target));
  }
}, { rootMargin: "600px" });

/// A figure that is filled when it comes near the window and the Receiver has made the small picture.
export function compare(place) {
  const figure = element("figure", { class: "compare", "aria-busy": "true" },
    element("p", { class: "faint" }, "Making it small"));
  places.set(figure, place);
  eyes.observe(figure);
  return figure;
}
