// Keys, clicks in the picture and small comforts; everything else is HTML and htmx.
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  let menu = null;

  function closeMenu() {
    if (!menu) return;
    menu.remove();
    menu = null;
  }

  // Several moves fit the element that was clicked: ask which.
  function openMenu(element, buttons) {
    closeMenu();
    menu = document.createElement("div");
    menu.className = "menu card";
    menu.setAttribute("role", "menu");
    for (const button of buttons) {
      const item = document.createElement("button");
      item.setAttribute("role", "menuitem");
      item.textContent = button.lastChild.textContent;
      item.addEventListener("click", () => { closeMenu(); button.click(); });
      menu.append(item);
    }
    find("#picture").append(menu);
    const frame = find("#picture").getBoundingClientRect(), box = element.getBoundingClientRect();
    const left = box.left + box.width / 2 - frame.left - menu.offsetWidth / 2;
    menu.style.left = `${Math.max(4, Math.min(left, frame.width - menu.offsetWidth - 4))}px`;
    menu.style.top = `${Math.max(4, Math.min(box.bottom - frame.top + 4, frame.height - menu.offsetHeight - 4))}px`;
    find("button", menu).focus();
  }

  function act(element) {
    const codes = element.dataset.action.split(" "), form = find("#moves");
    if (!form) return;
    if (codes[0] === "send") return find("[data-send]", form).click();
    if (Number(find("#board").dataset.heads) > 1) {
      for (const code of codes) {
        const radio = find(`input[data-code="${code}"]`, form);
        if (radio) radio.checked = true;
      }
      mark();
      return;
    }
    const buttons = codes.map(code => find(`button[value="${code}"]`, form)).filter(Boolean);
    if (buttons.length === 1) buttons[0].click();
    else if (buttons.length) openMenu(element, buttons);
  }

  // Show in the picture which values are set, in games with several heads.
  function mark() {
    const set = new Set(all("#moves input:checked").map(radio => radio.dataset.code));
    for (const element of all("#picture [data-action]")) {
      const on = set.size > 0 && element.dataset.action.split(" ").every(code => set.has(code));
      if (on) element.setAttribute("aria-pressed", "true");
      else element.removeAttribute("aria-pressed");
    }
  }

  function turn(fieldset, by, around) {
    const radios = all("input", fieldset), now = radios.findIndex(radio => radio.checked);
    let next = now + by;
    if (around) next = (next + radios.length) % radios.length;
    if (radios[next]) radios[next].checked = true;
    mark();
  }

  const STEPS = { ArrowLeft: ["x", -1], ArrowRight: ["x", 1], ArrowUp: ["y", -1], ArrowDown: ["y", 1] };

  // Arrow keys walk through the legal moves where they are no moves themselves.
  function walk(key) {
    const places = all(menu ? ".menu button" : "#moves button:not([data-send])");
    if (!places.length) return false;
    const now = places.indexOf(document.activeElement), by = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
    places[(now + by + places.length) % places.length].focus();
    return true;
  }

  function onKey(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !find("#board")) return;
    const target = event.target, typing = target.closest("input:not([type=radio]), select, textarea");
    if (typing || target.closest("#log")) return;
    const picked = target.closest("[data-action]");
    if (event.key === "Escape" && menu) { closeMenu(); return event.preventDefault(); }
    if (picked && (event.key === "Enter" || event.key === " ")) { act(picked); return event.preventDefault(); }
    if (menu) { if (event.key in STEPS && walk(event.key)) event.preventDefault(); return; }
    const step = STEPS[event.key], axis = step && find(`#moves fieldset[data-axis="${step[0]}"]`);
    if (axis) { turn(axis, step[1], false); return event.preventDefault(); }
    const chosen = all("#board [data-key]").find(one => one.dataset.key === event.key);
    if (chosen) {
      if (chosen.tagName === "FIELDSET") turn(chosen, 1, true);
      else chosen.click();
      return event.preventDefault();
    }
    const send = find("#moves [data-send]");
    if (event.key === "Enter" && send && !target.closest("a, button")) { send.click(); return event.preventDefault(); }
    if (step && !target.closest("input[type=radio]") && walk(event.key)) event.preventDefault();
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("keydown", onPip);
  document.addEventListener("change", event => { if (event.target.closest("#moves")) mark(); });
  document.addEventListener("click", event => {
    const element = event.target.closest("#picture [data-action]");
    if (element) return act(element);
    if (!event.target.closest(".menu")) closeMenu();
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard.writeText(new URL(copy.dataset.copy, location.href).href).then(() => { copy.textContent = "Copied"; });
  });

  // On the page of hands, two pips typed one after the other take a domino or put it back.
  let pip = "", pipTime = 0;
  function onPip(event) {
    if (!find("#hand") || event.ctrlKey || event.metaKey || event.altKey || !/^[0-6]$/.test(event.key)) return;
    const first = event.timeStamp - pipTime < 2000 ? pip : "";
    pip = first ? "" : event.key;
    pipTime = event.timeStamp;
    const tile = first && find(`#hand [data-pips="${[first, event.key].sort().reverse().join("")}"]`);
    if (tile) tile.click();
  }

  function settle() {
    closeMenu();
    mark();
    const log = find("#log");
    const now = log && find("[aria-current]", log);
    if (log) log.scrollTop = find(".study") ? (now ? now.offsetTop - log.offsetTop - log.clientHeight / 2 : 0) : log.scrollHeight;
  }
  document.addEventListener("htmx:afterSettle", settle);
  document.addEventListener("htmx:beforeRequest", event => {
    const problem = find("#problem");
    if (problem && event.detail.requestConfig.verb !== "get") problem.replaceChildren();
  });
  document.addEventListener("DOMContentLoaded", settle);
})();
