"use strict";
// The bare simulator: battles side by side in one process, a choice of each in turn, both sides random over legal choices; a battle that
// is over makes room for the next. Prints turns and CPU seconds. Usage, in the folder of the simulator: node bare.js FORMAT SECONDS BATTLES

const at = { paths: [process.cwd()] };
const { Battle } = require(require.resolve("pokemon-showdown", at));
const [format, seconds, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const SEATS = ["p1", "p2"];

let state = 12345;
function draw(count) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor((state / 0x80000000) * count);
}

function choice(request) {
  const team = request.side.pokemon;
  const bench = [];
  for (let k = 0; k < team.length; k++) {
    if (!team[k].active && !team[k].condition.endsWith(" fnt")) bench.push(k + 1);
  }
  if (request.teamPreview) return `team ${draw(team.length) + 1}`;
  if (request.forceSwitch) {
    if (team.some((pokemon) => pokemon.reviving)) {
      const fainted = team.map((_, k) => k + 1).filter((k) => team[k - 1].condition.endsWith(" fnt"));
      return `switch ${fainted[draw(fainted.length)]}`;
    }
    return `switch ${bench[draw(bench.length)]}`;
  }
  const active = request.active[0];
  const choices = [];
  active.moves.forEach((move, k) => {
    if (move.disabled) return;
    choices.push(`move ${k + 1}`);
    if (active.canTerastallize) choices.push(`move ${k + 1} terastallize`);
  });
  if (!active.trapped) for (const k of bench) choices.push(`switch ${k}`);
  return choices[draw(choices.length)];
}

let number = 0;
function started() {
  number++;
  const seed = (part) => `gen5,${(number * 16 + part).toString(16).padStart(16, "0")}`;
  const battle = new Battle({ formatid: format, seed: seed(0) });
  battle.sendUpdates = function () {
    this.sentLogPos = this.log.length;
  };
  SEATS.forEach((seat, k) => battle.setPlayer(seat, { name: seat, seed: seed(k + 1) }));
  battle.sendUpdates();
  return battle;
}

const battles = Array.from({ length: count }, started);

// One decision of every battle; returns the turns that passed.
function round() {
  let turns = 0;
  for (let k = 0; k < count; k++) {
    const battle = battles[k];
    const before = battle.turn;
    battle.sides.forEach((side, seat) => {
      if (side.requestState && !side.isChoiceDone()) battle.choose(SEATS[seat], choice(side.activeRequest));
    });
    battle.sendUpdates();
    turns += battle.turn - before;
    if (battle.ended) battles[k] = started();
  }
  return turns;
}

function spent() {
  const used = process.cpuUsage();
  return (used.user + used.system) / 1e6;
}

while (spent() < seconds / 2) round(); // until the code is compiled
const start = spent();
let turns = 0;
while (spent() < start + seconds) turns += round();
console.log(JSON.stringify({ turns, cpu_seconds: spent() - start }));
