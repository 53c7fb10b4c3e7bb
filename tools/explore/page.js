"use strict";
// Filters hide; hovering and focus show a value; a click or Enter shows the command that measures the point again.
const filters = [...document.querySelectorAll("select[data-key]")];
const wanted = key => (filters.find(f => f.dataset.key === key) || {value: ""}).value;
const fits = (element, key) => !wanted(key) || !element.dataset[key] || element.dataset[key] === wanted(key);
function filter() {
  for (const e of document.querySelectorAll("figure, tbody tr, g.series"))
    e.toggleAttribute("hidden", !["implementation", "storage", "family"].every(key => fits(e, key)));
  // A chart without a series says nothing.
  for (const figure of document.querySelectorAll("figure")) {
    const series = [...figure.querySelectorAll("g.series")];
    if (series.length && series.every(g => g.hasAttribute("hidden"))) figure.setAttribute("hidden", "");
  }
  for (const g of document.querySelectorAll("g.series")) g.style.display = g.hasAttribute("hidden") ? "none" : "";
}
filters.forEach(f => f.addEventListener("change", filter));
document.querySelector("form").addEventListener("reset", () => setTimeout(filter));

const tip = document.getElementById("tip"), words = tip.querySelector("span"), command = tip.querySelector("code");
function describe(e) {
  const title = e.querySelector("title");
  return title ? title.textContent : e.closest("tr").cells[0].textContent + ", " +
    e.closest("table").tHead.rows[0].cells[e.cellIndex].textContent + ": " + e.textContent;
}
function show(e, withCommand) {
  if (!e || !e.dataset || !e.dataset.cell) return;
  if (tip.dataset.kept && !withCommand) return;
  words.textContent = describe(e) + " (" + (e.dataset.y || e.dataset.value) + ")";
  command.textContent = withCommand ? "assay explore cell" + (document.body.dataset.formula || "") + " '" + e.dataset.cell.replaceAll("'", "'\\''") + "'" : "";
  tip.dataset.kept = withCommand ? "yes" : "";
  tip.hidden = false;
}
function hide() { tip.hidden = true; tip.dataset.kept = ""; }
const pointed = event => event.target.closest("[data-cell]");
document.addEventListener("mouseover", event => { const e = pointed(event); if (e) show(e, false); else if (!tip.dataset.kept) tip.hidden = true; });
document.addEventListener("focusin", event => show(pointed(event), false));
document.addEventListener("click", event => { const e = pointed(event); if (e) show(e, true); else if (!tip.contains(event.target)) hide(); });
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && pointed(event)) show(pointed(event), true);
  if (event.key === "Escape") hide();
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], e = event.target;
  if (step && e.matches && e.matches(".point[data-cell]")) {
    const all = [...e.closest("svg").querySelectorAll(".point[data-cell]")].filter(p => p.getClientRects().length);
    const next = all[all.indexOf(e) + step];
    if (next) { e.tabIndex = -1; next.tabIndex = 0; next.focus(); event.preventDefault(); }
  }
});
// The Tab key stops once in each chart; the arrow keys move between its points.
for (const svg of document.querySelectorAll("svg.chart")) {
  const points = svg.querySelectorAll(".point[data-cell]");
  points.forEach((p, k) => { p.tabIndex = k ? -1 : 0; p.setAttribute("role", "button"); });
}
