// Steps through the positions of a game. The data is in the page; `data.more` is an address that has more of a game that goes on.
"use strict";
let data = JSON.parse(document.getElementById("data").textContent);
const part = id => document.getElementById(id);
let last = data.positions.length - 1;
let position = 0, timer = null;

const joined = numbers => numbers.map(number => data.lines[number]).join("\n");

function describe(list, facts) {
  list.replaceChildren(...Object.entries(facts).flatMap(([key, value]) => {
    const name = document.createElement("dt"), text = document.createElement("dd");
    name.textContent = key;
    text.textContent = typeof value === "string" ? value : JSON.stringify(value);
    return [name, text];
  }));
}

function draw() {
  const now = data.positions[position], view = Number(part("view").value);
  const text = joined(now.text[view]);
  if (now.svg) part("picture").innerHTML = joined(now.svg[view]);
  else {
    const picture = document.createElement("pre");
    picture.textContent = text;
    part("picture").replaceChildren(picture);
  }
  part("text").textContent = text;
  describe(part("info"), now.info);
  part("slider").value = position;
  part("slider").setAttribute("aria-valuetext", `${position} of ${last}: ${now.move}`);
  part("status").setAttribute("aria-live", timer ? "off" : "polite");
  part("status").textContent = `Move ${position} of ${last}: ${now.move}; ${now.returns}`;
  part("moves").querySelector("[aria-current]")?.removeAttribute("aria-current");
  const entry = part("moves").children[position].firstChild, list = part("moves");
  entry.setAttribute("aria-current", "step");
  if (entry.offsetTop < list.scrollTop + list.offsetTop || entry.offsetTop + entry.offsetHeight > list.scrollTop + list.offsetTop + list.clientHeight)
    list.scrollTop = entry.offsetTop - list.offsetTop - list.clientHeight / 2;
}

function go(to) { position = Math.max(0, Math.min(last, to)); draw(); }

function pause() { clearInterval(timer); timer = null; part("play").textContent = "Play"; }

function play() {
  if (position === last) go(0);
  timer = setInterval(() => { go(position + 1); if (position === last) { pause(); draw(); } }, 1000 / Number(part("speed").value));
  part("play").textContent = "Pause";
}

function step(to) { pause(); go(to); }

part("play").onclick = () => { timer ? pause() : play(); };
part("first").onclick = () => step(0);
part("back").onclick = () => step(position - 1);
part("on").onclick = () => step(position + 1);
part("last").onclick = () => step(last);
part("slider").oninput = () => step(Number(part("slider").value));
part("view").onchange = draw;
part("speed").onchange = () => { if (timer) { pause(); play(); } };

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, input")) return;
  if (event.key === " " && event.target.closest("button, summary")) return;
  const jobs = { ArrowLeft: () => step(position - 1), ArrowRight: () => step(position + 1), Home: () => step(0), End: () => step(last), " ": () => part("play").click() };
  if (event.key in jobs) { event.preventDefault(); jobs[event.key](); }
});

function fill() {
  last = data.positions.length - 1;
  document.title = part("title").textContent = data.title;
  part("subtitle").textContent = data.subtitle;
  part("slider").max = last;
  describe(part("about"), data.about);
  part("words").hidden = !data.positions[0].svg;
  part("moves").replaceChildren(...data.positions.map((now, number) => {
    const item = document.createElement("li"), button = document.createElement("button");
    [["number", number], ["name", now.move], ["gain", now.gain]].forEach(([name, text]) => {
      const cell = document.createElement("span");
      cell.className = name;
      cell.textContent = text;
      button.append(cell);
    });
    button.onclick = () => step(number);
    item.append(button);
    return item;
  }));
  const moments = data.positions.map((now, number) => [now.moment, number]).filter(([words]) => words);
  part("moments").hidden = !moments.length;
  part("moments").replaceChildren(...moments.slice(0, 24).map(([words, number]) => {
    const button = document.createElement("button");
    button.textContent = `${number}: ${words}`;
    button.onclick = () => step(number);
    return button;
  }));
}

// A game that goes on: fetch it again while it grows, and stay at its end if one is there.
async function more() {
  const answer = await fetch(`${data.more}?have=${data.positions.length}`).catch(() => null);
  if (answer && answer.status === 200) {
    const found = await answer.json(), atEnd = position === last && !timer;
    data = found;
    fill();
    go(atEnd ? last : position);
  }
  if (data.more && (!answer || answer.ok)) setTimeout(more, 800);
}

part("view").append(...data.views.map((name, number) => new Option(name, number)));
part("view").value = data.view;
const speeds = [...part("speed").options];
part("speed").value = speeds.reduce((best, one) => Math.abs(one.value - data.speed) < Math.abs(best.value - data.speed) ? one : best).value;
fill();
go(Math.min(last, data.start || 0));
if (data.more) more();
