// Draws the figures in the colours of the theme: a figure names tokens, and an element that wears one says its colour.
"use strict";
(() => {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);

  const worn = (name) => {
    probe.style.color = name;
    return getComputedStyle(probe).color;
  };
  const coloured = (value) => {
    if (typeof value === "string") return value.startsWith("var(--") ? worn(value) : value;
    if (Array.isArray(value)) return value.map(coloured);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
  };
  const face = getComputedStyle(document.body).fontFamily;
  // Named one by one: plotly would also offer to send the chart to a server of its maker.
  const buttons = (layout) => [layout.xaxis.fixedrange ? ["toImage"] : ["toImage", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
  const draw = () => {
    for (const place of document.querySelectorAll("[data-figure]")) {
      const { data, layout } = coloured(JSON.parse(document.getElementById(place.dataset.figure).textContent));
      layout.font.family = face;
      Plotly.react(place, data, layout, { responsive: true, displaylogo: false, modeBarButtons: buttons(layout) });
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
