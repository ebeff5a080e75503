// Folders of the chart, filters of the list. Without scripts all is there, unfiltered.
"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const items = [...document.querySelectorAll("#list li[data-rule]")].map((element) => ({
    element,
    file: element.closest(".file"),
    path: element.closest(".file").dataset.path,
    text: "",
  }));
  const files = [...document.querySelectorAll("#list .file")];
  const shown = document.getElementById("shown");
  const none = document.getElementById("none");
  const areaLine = document.getElementById("area-line");
  const areaName = document.getElementById("area-name");
  const total = items.length;
  let area = "";

  const inArea = (path) => area === "" || path === area || (area.endsWith("/") && path.startsWith(area));

  function apply() {
    const severities = new Set(
      [...form.elements.severity].filter((box) => box.checked).map((box) => box.value),
    );
    const remedy = form.elements.remedy.value;
    const rule = form.elements.rule.value;
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const alive = new Set();
    let number = 0;
    for (const item of items) {
      const data = item.element.dataset;
      if (words.length && !item.text) {
        item.text = `${item.path} ${item.element.textContent}`.toLowerCase();
      }
      const fits =
        severities.has(data.severity) &&
        (!remedy || data.remedy === remedy) &&
        (!rule || data.rule === rule) &&
        inArea(item.path) &&
        words.every((word) => item.text.includes(word));
      item.element.hidden = !fits;
      if (fits) {
        number += 1;
        alive.add(item.file);
      }
    }
    for (const file of files) file.hidden = !alive.has(file);
    const all = `${total} ${total === 1 ? "finding" : "findings"}`;
    shown.textContent = number === total ? all : `${number} of ${all}`;
    none.hidden = number > 0;
    areaLine.hidden = area === "";
    areaName.textContent = area;
  }

  function setArea(path) {
    area = path;
    apply();
  }

  function toFindings() {
    const heading = document.getElementById("findings");
    heading.focus({ preventScroll: true });
    heading.scrollIntoView();
  }

  function open(path) {
    const levels = [...document.querySelectorAll("#chart .level")];
    const wanted = levels.find((level) => level.dataset.level === path);
    if (!wanted) return;
    for (const level of levels) level.hidden = level !== wanted;
    setArea(path);
    // The button that was pressed is gone from sight: go on where the new level begins.
    const first = wanted.querySelector(".trail button:last-of-type, .bars button");
    if (first) first.focus({ preventScroll: true });
  }

  function only(field, value) {
    form.reset();
    area = "";
    form.elements[field].value = value;
    apply();
    toFindings();
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const link = event.target.closest('a[href^="#f"]');
    if (link && document.getElementById(link.hash.slice(1))?.hidden) {
      form.reset();
      setArea("");
    }
    if (!button) return;
    if ("open" in button.dataset) open(button.dataset.open);
    else if ("file" in button.dataset) {
      form.reset();
      setArea(button.dataset.file);
      toFindings();
    } else if (button.dataset.setRule) only("rule", button.dataset.setRule);
    else if (button.dataset.setRemedy) only("remedy", button.dataset.setRemedy);
    else if (button.id === "area-clear") {
      setArea("");
      form.elements.text.focus();
    } else if (button.id === "more-causes") {
      const more = [...document.querySelectorAll(".causes [data-more]")];
      for (const cause of more) cause.hidden = false;
      more[0]?.querySelector("summary").focus();
      button.parentElement.remove();
    }
  });
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    area = "";
    // The fields have their first values again only after this event.
    setTimeout(apply);
  });
  apply();
})();
