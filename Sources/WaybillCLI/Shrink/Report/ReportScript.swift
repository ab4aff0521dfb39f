/// The page's own script: it moves the slider's edge and enlarges pictures.
enum ReportScript {
    /// What the page's policy lets run: the SHA-256 of ``text``. A test compares the two.
    static let hash = "sha256-aFi0jU33VmvU2tq13GGc7z4wYvptyth5BTdZVJk81vU="

    static let text = """

        "use strict";
        for (const stage of document.querySelectorAll(".stage")) {
          const split = stage.querySelector(".split");
          const show = () => {
            stage.style.setProperty("--split", split.value + "%");
            split.setAttribute("aria-valuetext", split.value + " % before, " + (100 - split.value) + " % after");
          };
          split.addEventListener("input", show);
          show();
        }
        for (const button of document.querySelectorAll(".enlarge")) {
          button.addEventListener("click", () => {
            const view = button.closest("section").querySelector(".view");
            const isLarge = view.classList.toggle("large");
            button.setAttribute("aria-pressed", String(isLarge));
            if (isLarge) { view.tabIndex = 0; } else { view.removeAttribute("tabindex"); }
          });
        }
        document.documentElement.dataset.ready = "yes";

        """
}
