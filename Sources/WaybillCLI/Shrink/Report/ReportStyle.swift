/// The style sheet of the page, for light and dark screens, for print, and for small windows.
enum ReportStyle {
    /// The SHA-256 of ``text`` for the page's content security policy. A test compares the two.
    static let hash = "sha256-ylJmYhhvt50sambZSOCJ2qSErWE3qgR66a7H4K8uqu8="

    static let text = """

        :root {
          color-scheme: light dark;
          --paper: #ffffff; --card: #f6f8fa; --ink: #1f2328; --faint: #59636e; --edge: #d1d9e0; --accent: #0969da; --bad: #b3261e;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #0d1117; --card: #151b23; --ink: #e6edf3; --faint: #9198a1; --edge: #3d444d; --accent: #4493f8; --bad: #ff8a80;
          }
        }
        * { box-sizing: border-box }
        body { margin: 0 auto; max-width: 1160px; padding: 24px 20px 48px; background: var(--paper); color: var(--ink);
          font: 16px/1.5 system-ui, sans-serif; }
        h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px }
        h2 { font-size: 19px; margin: 0 0 12px; overflow-wrap: anywhere }
        header p, footer, .hint, figcaption { color: var(--faint) }
        header p { margin: 0 0 24px }
        footer { font-size: 14px; margin-top: 32px }
        a { color: var(--accent) }
        .bad { color: var(--bad); overflow-wrap: anywhere }
        .picture { margin: 0 0 28px; padding: 20px; background: var(--card); border: 1px solid var(--edge); border-radius: 12px }
        .view { display: grid; justify-items: center }
        .stage { --split: 50%; position: relative; display: inline-block; max-width: 100%; line-height: 0; isolation: isolate }
        .before { display: block; width: auto; height: auto; max-width: 100%; max-height: 76vh; border-radius: 8px }
        .after { position: absolute; inset: 0; width: 100%; height: 100%; border-radius: 8px;
          clip-path: inset(0 0 0 var(--split)) }
        .line { position: absolute; top: 0; bottom: 0; left: var(--split); width: 2px; margin-left: -1px; background: #fff;
          box-shadow: 0 0 0 1px rgb(0 0 0 / 45%); pointer-events: none }
        .line::after { content: "‹ ›"; position: absolute; top: 50%; left: 50%; width: 38px; height: 38px; margin: -19px;
          border-radius: 50%; background: #fff; color: #1f2328; font: 600 17px/36px system-ui, sans-serif; text-align: center;
          box-shadow: 0 0 0 1px rgb(0 0 0 / 45%), 0 2px 8px rgb(0 0 0 / 30%) }
        .tag { position: absolute; top: 10px; padding: 3px 10px; border-radius: 999px; background: rgb(0 0 0 / 62%); color: #fff;
          font-size: 13px; line-height: 1.5; pointer-events: none }
        .left { left: 10px } .right { right: 10px }
        .split { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: ew-resize;
          touch-action: pan-y; appearance: none }
        .split::-webkit-slider-thumb { appearance: none; width: 2px; height: 100% }
        .split::-moz-range-thumb { width: 2px; height: 100%; border: 0 }
        .stage:has(.split:focus-visible) { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 8px }
        .large .stage:has(.split:focus-visible) { outline-offset: -3px }
        .large { display: block; overflow: auto; max-height: 80vh }
        .large .stage { max-width: none }
        .large .before { max-width: none; max-height: none }
        .tools { margin: 12px 0 16px; display: flex; gap: 14px; align-items: center; flex-wrap: wrap }
        button { font: inherit; padding: 5px 14px; color: var(--ink); background: var(--paper); border: 1px solid var(--edge);
          border-radius: 8px; cursor: pointer }
        button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent) }
        button:focus-visible, a:focus-visible, summary:focus-visible, .view:focus-visible { outline: 3px solid var(--accent);
          outline-offset: 2px }
        .facts { display: grid; grid-template-columns: minmax(240px, 2fr) minmax(300px, 3fr); gap: 24px; align-items: start }
        .figures { margin: 0; display: grid }
        .figures div { display: grid; grid-template-columns: 88px 1fr; gap: 12px; padding: 7px 0; border-bottom: 1px solid var(--edge) }
        .figures div:last-child { border-bottom: 0 }
        dt { color: var(--faint) }
        dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
        dd.figure { white-space: nowrap }
        .curve { margin: 0; font-size: 14px }
        svg { width: 100%; height: auto; display: block }
        .grid { stroke: var(--edge) }
        .axis { fill: var(--faint); font: 12px system-ui, sans-serif }
        .mark { stroke: var(--accent); stroke-dasharray: 4 4 }
        .marked { fill: var(--accent); font: 600 12px system-ui, sans-serif }
        .trace { fill: none; stroke: var(--accent); stroke-width: 2.5; stroke-linejoin: round }
        .dot { fill: var(--card); stroke: var(--accent); stroke-width: 2.5 }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px }
        th, td { text-align: right; padding: 6px 8px; border-bottom: 1px solid var(--edge); font-weight: 400 }
        thead th { color: var(--faint) }
        td { white-space: nowrap }
        th:first-child { text-align: left; overflow-wrap: anywhere }
        td:first-child { text-align: left }
        td.bad { white-space: normal }
        .scroll { overflow-x: auto; margin: 0 0 28px }
        .overview th:first-child { min-width: 12em }
        .overview a { display: flex; gap: 12px; align-items: center }
        .thumb { width: 72px; height: 54px; object-fit: contain; flex: none }
        @media (max-width: 720px) { .facts { grid-template-columns: 1fr } body { padding: 16px 12px 32px } .picture { padding: 14px } }
        @media print { .tools, .line, .tag { display: none } .picture { break-inside: avoid } }

        """
}

/// The script of the page, which moves the slider and enlarges images.
enum ReportScript {
    /// The SHA-256 of ``text`` for the page's content security policy. A test compares the two.
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
