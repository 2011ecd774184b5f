// Two pips typed one after the other take a domino or put it back.
"use strict";
(() => {
  let pip = "", pipTime = 0;
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !/^[0-6]$/.test(event.key)) return;
    const first = event.timeStamp - pipTime < 2000 ? pip : "";
    pip = first ? "" : event.key;
    pipTime = event.timeStamp;
    const tile = first && document.querySelector(`#hand [data-pips="${[first, event.key].sort().reverse().join("")}"]`);
    if (tile) tile.click();
  });
})();
