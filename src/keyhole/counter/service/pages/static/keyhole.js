// What pages do beyond forms and links. Every page works without it.
"use strict";
(() => {
  const say = (words) => {
    const status = document.getElementById("status");
    if (status) status.textContent = words;
  };

  // Numbers as they are typed. The rules are those of typed.py; a test compares the two.
  const LARGEST = 1e150;
  const EXPONENT = "([eE][+-]?[0-9]{1,4})?";
  const POINT = new RegExp(`^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)${EXPONENT}$`);
  const COMMA = new RegExp(`^[+-]?[0-9]*,[0-9]+${EXPONENT}$`);
  const UNCLEAR = /^[+-]?[1-9][0-9]{0,2},[0-9]{3}$/;
  const GROUPED = /^[+-]?[0-9]{1,3}([, '][0-9]{3})+(\.[0-9]+)?$/;
  const GROUPED_BY_POINTS = /^[+-]?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+$/;
  const WITH_SIGN_OR_UNIT = /^[<>~]?\s*([+-]?[0-9]+([.,][0-9]+)?)(?=$|[\sa-zA-Zµ°%])/;

  function readNumber(text) {
    const given = text.trim().replace(/\u2212/g, "-").replace(/[\u00a0\u202f]/g, " ");
    if (!given) return { value: null, error: "", offers: [] };
    if (UNCLEAR.test(given)) {
      const offers = [given.replace(",", "."), given.replace(",", "")];
      return { value: null, error: `can be ${offers[0]} or ${offers[1]}: type one of them`, offers };
    }
    if (POINT.test(given) || COMMA.test(given)) {
      const value = Number(given.replace(",", "."));
      if (!(Math.abs(value) <= LARGEST)) return { value: null, error: "is too large", offers: [] };
      return { value, error: "", offers: [], comma: given.includes(",") };
    }
    let offer = null;
    if (GROUPED.test(given)) offer = given.replace(/[, ']/g, "");
    else if (GROUPED_BY_POINTS.test(given)) offer = given.replace(/\./g, "").replace(",", ".");
    else if (WITH_SIGN_OR_UNIT.test(given)) offer = WITH_SIGN_OR_UNIT.exec(given)[1].replace(",", ".");
    if (offer === null) return { value: null, error: "must be a number such as 12.5", offers: [] };
    return { value: null, error: `must be a plain number: do you mean ${offer}?`, offers: [offer] };
  }
  window.keyhole = { readNumber };

  function within(found, { low, high, note }) {
    if (found.value === null || !(found.value < Number(low) || found.value > Number(high))) return found;
    return { value: null, error: `is not ${note}`, offers: [] };
  }

  function offerButton(input, offer) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "offer";
    button.dataset.offer = offer;
    button.textContent = `Use ${offer}`;
    button.dataset.input = input.id;
    return button;
  }

  function check(input, aloud) {
    const field = input.closest(".field");
    const hint = field && field.querySelector(".hint");
    if (!hint) return;
    const found = within(readNumber(input.value), input.dataset);
    field.classList.toggle("bad", Boolean(found.error));
    if (found.error) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    hint.textContent = found.error || (found.comma ? `read as ${found.value}` : input.dataset.note || "");
    for (const offer of found.offers) hint.append(" ", offerButton(input, offer));
    if (aloud && found.error) say(`${field.querySelector("label").textContent} ${found.error}`);
  }

  function progress() {
    const form = document.querySelector("[data-values]");
    const place = form && form.querySelector("[data-progress]");
    if (!place) return;
    const inputs = [...form.querySelectorAll("[data-number]")];
    const filled = inputs.filter((input) => input.value.trim()).length;
    place.textContent = `${filled} of ${inputs.length} values`;
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-number]")) return;
    // While somebody types, only what was wrong before is looked at again: "1," is on its way.
    if (event.target.getAttribute("aria-invalid")) check(event.target, false);
    progress();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-number]")) check(event.target, true);
  });

  // Enter goes on to the next value; from the last one it sends the form.
  document.addEventListener("keydown", (event) => {
    const input = event.target;
    if (event.key !== "Enter" || !input.matches("[data-values] [data-number]")) return;
    const inputs = [...input.form.querySelectorAll("[data-number]")];
    const next = inputs[inputs.indexOf(input) + 1];
    check(input, true);
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.select();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.offer) {
      const id = button.dataset.input || button.parentElement.dataset.for;
      const input = document.getElementById(id);
      input.value = button.dataset.offer;
      check(input, false);
      input.focus();
      progress();
    } else if (button.dataset.copy) {
      copy(document.getElementById(button.dataset.copy), button);
    } else if ("print" in button.dataset) {
      window.print();
    } else if ("live" in button.dataset) {
      const live = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(live));
      button.textContent = live ? "Live" : "Paused";
    }
  });

  async function copy(element, button) {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try {
      await navigator.clipboard.writeText(element.textContent.trim());
    } catch {
      document.execCommand("copy"); // without https there is no clipboard
    }
    button.textContent = "Copied";
    say("Copied");
  }

  // A form is sent once; its key makes sure, this only shows it.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-once]")) return;
    if (form.dataset.sent) {
      event.preventDefault();
      return;
    }
    form.dataset.sent = "yes";
    for (const button of form.querySelectorAll("button:not([type=button])")) {
      button.setAttribute("aria-disabled", "true");
    }
  });
  // "Back" must not show a form that was sent.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });

  // Live parts: no news while the tab is hidden, paused, or somebody reads a table in it.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const button = document.querySelector("[data-live]");
    const paused = button && button.getAttribute("aria-pressed") !== "true";
    const selecting = String(getSelection()).length > 0;
    if (document.hidden || paused || selecting) event.preventDefault();
  });
  let opened = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.status !== 200) event.detail.shouldSwap = false;
    opened = [...document.querySelectorAll("#live details[open]")].map((each) => each.id);
  });
  document.addEventListener("htmx:afterSwap", () => {
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    draw();
  });

  // Charts are drawn from the tables beside them.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let drawn = [];

  function draw() {
    for (const plot of drawn) plot.destroy();
    drawn = [];
    if (!window.uPlot) return;
    for (const figure of document.querySelectorAll("[data-chart]")) {
      const names = [...figure.querySelectorAll("th")].map((cell) => cell.textContent);
      const rows = [...figure.querySelectorAll("tbody tr")];
      const data = names.map((_, i) => rows.map((row) => Number(row.cells[i].dataset.value)));
      const place = figure.querySelector(".plot");
      const pens = [
        { stroke: colour("--blue"), width: 2 },
        { stroke: colour("--orange"), width: 2, dash: [6, 4] },
      ];
      const shown = (_, value) => (value === null ? "–" : Number(value.toPrecision(4)).toLocaleString("en"));
      const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
      const high = Number(figure.dataset.high); // what is beyond is cut off, and named above
      const wide = Math.max(56, 16 + 8 * shown(null, high).length);
      const size = { width: place.clientWidth || 300, height: 220 };
      place.textContent = "";
      drawn.push(new window.uPlot({
        ...size,
        scales: { x: { time: false }, y: { range: (_, low) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
        axes: [axis, { ...axis, size: wide, values: (_, ticks) => ticks.map((tick) => shown(null, tick)) }],
        series: [{ label: names[0], value: shown }, ...names.slice(1).map((label, i) => ({ label, value: shown, points: { show: rows.length < 3 }, ...pens[i % 2] }))],
        cursor: { drag: { x: false, y: false } },
      }, data, place));
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const each of document.querySelectorAll("[data-copy], [data-print], [data-live], [data-offer]")) {
      each.hidden = false;
    }
    progress();
    draw();
    const wrong = document.querySelector("[aria-invalid=true], #missing");
    const first = document.querySelector("[data-values] [data-number], #label");
    (wrong || first)?.focus({ preventScroll: !wrong });
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) draw();
    width = window.innerWidth;
  });
})();
