// Two pips typed one after the other take a domino or put it back; any other key and a click forget the first one.
"use strict";
(() => {
  let pip = "";
  document.addEventListener("keydown", event => {
    const typed = !event.ctrlKey && !event.metaKey && !event.altKey && /^[0-6]$/.test(event.key) ? event.key : "";
    const tile = pip && typed && document.querySelector(`#hand [data-pips="${[pip, typed].sort().reverse().join("")}"]`);
    pip = pip ? "" : typed;
    if (tile) tile.click();
  });
  document.addEventListener("pointerdown", () => { pip = ""; });
})();
