// Draws the board of a `ShownGame` in a notebook, and sends what is done to it.
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function render({ model, el }) {
  const send = message => model.send(message);
  const picture = element("div", { className: "ludory-picture" });
  const controls = element("div", { className: "ludory-row" });
  const slider = element("input", { type: "range", min: 0, ariaLabel: "Position" });
  const status = element("p", { role: "status" });
  const moves = element("div", { className: "ludory-moves", role: "group", ariaLabel: "Moves" });
  const steps = [["|◀︎", "First position", () => 0], ["◀︎", "One move back", at => at - 1], ["▶︎", "One move on", at => at + 1], ["▶︎|", "Last position", (at, last) => last]]
    .map(([words, label, to]) => element("button", {
      textContent: words, ariaLabel: label,
      onclick: () => { const { at, last } = model.get("board"); send({ do: "go", to: to(at, last) }); },
    }));
  const next = element("button", { textContent: "Next move", onclick: () => send({ do: "next" }) });
  const again = element("button", { textContent: "New game", onclick: () => send({ do: "new" }) });
  slider.oninput = () => send({ do: "go", to: Number(slider.value) });
  controls.append(...steps, slider, next, again);
  el.classList.add("ludory-game");
  el.replaceChildren(picture, controls, status, moves);

  const play = action => { moves.replaceChildren(); send({ do: "play", action }); };

  function drawMoves({ heads }) {
    if (heads.length === 1) {
      const buttons = heads[0].choices.map(([value, name]) => element("button", { textContent: name, onclick: () => play([value]) }));
      buttons.forEach((button, number) => { button.dataset.value = heads[0].choices[number][0]; });
      return moves.replaceChildren(...buttons);
    }
    const choices = heads.map(({ name, choices }) => element("select", { ariaLabel: name }, ...choices.map(([value, word]) => new Option(word, value))));
    const labels = choices.map((select, head) => element("label", {}, heads[head].name + " ", select));
    const done = element("button", { className: "ludory-send", textContent: "Send", onclick: () => play(choices.map(select => Number(select.value))) });
    moves.replaceChildren(...(heads.length ? [...labels, done] : []));
  }

  // A place in the picture that stands for several moves leaves the buttons of these.
  function act(target) {
    const codes = target.dataset.action.split(" ").map(code => code.split(":")), selects = moves.querySelectorAll("select");
    if (codes[0][0] === "send") return moves.querySelector(".ludory-send").click();
    if (selects.length) return codes.forEach(([head, value]) => { selects[head].value = value; });
    const values = codes.map(([, value]) => value);
    if (values.length === 1) return play([Number(values[0])]);
    for (const button of moves.children) button.hidden = !values.includes(button.dataset.value);
    moves.querySelector("button:not([hidden])")?.focus();
  }

  picture.onclick = event => {
    const target = event.target.closest("[data-action]");
    if (target) act(target);
    else for (const button of moves.children) button.hidden = false;
  };
  picture.onkeydown = event => {
    const target = event.target.closest("[data-action]");
    if (target && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); act(target); }
  };

  function draw() {
    const board = model.get("board");
    picture.innerHTML = board.picture;
    slider.max = board.last;
    slider.value = board.at;
    slider.setAttribute("aria-valuetext", `${board.at} of ${board.last}: ${board.move}`);
    next.hidden = !board.waits;
    status.textContent = `Move ${board.at} of ${board.last}: ${board.move}. ${board.scores}. ${board.turn}`;
    if (board.problem) status.append(element("strong", { textContent: ` ${board.problem}` }));
    picture.setAttribute("aria-label", board.title);
    drawMoves(board);
  }
  model.on("change:board", draw);
  draw();
  return () => model.off("change:board", draw);
}

export default { render };
