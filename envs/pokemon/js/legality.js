"use strict";
// Legal actions from a request, by the rules of requests.py; a test compares the two. A mask is a number whose bit a stands for action a.
// Compact answers: i [game, ..], kind and mask [p1, p2 of each game], turn [of each game], end [[game, end], ..], rej [[game, seat, text], ..].

const KINDS = { move: 0, switch: 1, revive: 2, preview: 3, wait: 4 };
const MOVES = 4;
const FIRST_GIMMICK = 10;
const GROUPS = { 6: [["mega", "ultra"]], 7: [["mega", "ultra"], ["zmove"]], 8: [["dynamax"]], 9: [["terastallize"]] };
const OFFERS = {
  mega: [["mega", "canMegaEvo"], ["megax", "canMegaEvoX"]],
  ultra: [["ultra", "canUltraBurst"]],
  dynamax: [["dynamax", "canDynamax"]],
  terastallize: [["terastallize", "canTerastallize"]],
  zmove: [["zmove", "canZMove"], ["megay", "canMegaEvoY"]],
};

// What "compact" of a reset asks for: {"gimmick": "native" | "never", "slot_order": "request" | "alpha"}.
function mode(asked, gen) {
  if (!asked) return null;
  return { groups: asked.gimmick === "never" ? [] : GROUPS[gen] || [], alpha: asked.slot_order === "alpha" };
}

function menuOrder(moves, alpha) {
  const places = moves.slice(0, MOVES).map((_, k) => k);
  return alpha ? places.sort((a, b) => (moves[a].id < moves[b].id ? -1 : moves[a].id > moves[b].id ? 1 : a - b)) : places;
}

function offered(active, place, word, name) {
  const flag = active[name];
  if (!flag) return false;
  if (word === "zmove") return place < flag.length && flag[place] !== null;
  if (word === "dynamax") return asMaximum(active, place);
  return !active.moves[place].disabled;
}

function asMaximum(active, place) {
  const maximum = active.maxMoves ? active.maxMoves.maxMoves : [];
  return place < maximum.length && !maximum[place].disabled;
}

function moveLegal(active, place) {
  const dynamaxed = active.maxMoves && active.maxMoves.maxMoves.length && !active.canDynamax;
  return dynamaxed ? asMaximum(active, place) : !active.moves[place].disabled;
}

// The word that follows a move with the gimmick of `group`: the last one that is offered, as in requests.py.
function gimmickWord(active, place, group) {
  let found = null;
  for (const gimmick of group) {
    for (const [word, name] of OFFERS[gimmick]) if (offered(active, place, word, name)) found = word;
  }
  return found;
}

function kindOf(request) {
  if (!request || request.wait) return "wait";
  if (request.teamPreview) return "preview";
  if (request.forceSwitch) return request.side.pokemon.some((pokemon) => pokemon.reviving) ? "revive" : "switch";
  return "move";
}

function mayEnter(request, kind, position) {
  const pokemon = request.side.pokemon[position];
  if (kind === "preview") return true;
  const fainted = pokemon.condition.endsWith(" fnt");
  if (kind === "revive") return fainted;
  return !fainted && !pokemon.active && !(kind === "move" && request.active[0].trapped);
}

function maskOf(request, kind, order, compact) {
  if (kind === "wait") return 1;
  let mask = 0;
  for (let position = 0; position < request.side.pokemon.length; position++) {
    if (mayEnter(request, kind, position)) mask |= 1 << (MOVES + order[position]);
  }
  if (kind !== "move") return mask;
  const active = request.active[0];
  menuOrder(active.moves, compact.alpha).forEach((place, action) => {
    if (moveLegal(active, place)) mask |= 1 << action;
    compact.groups.forEach((group, g) => {
      if (gimmickWord(active, place, group)) mask |= 1 << (FIRST_GIMMICK + MOVES * g + action);
    });
  });
  return mask;
}

// The choice string of an action, null if it is not legal.
function choice(request, order, compact, action) {
  const kind = kindOf(request);
  if (!Number.isInteger(action) || action < 0 || action > 30 || !(maskOf(request, kind, order, compact) & (1 << action))) return null;
  if (action >= MOVES && action < FIRST_GIMMICK) {
    return `${kind === "preview" ? "team" : "switch"} ${order.indexOf(action - MOVES) + 1}`;
  }
  const active = request.active[0];
  const places = menuOrder(active.moves, compact.alpha);
  if (action < MOVES) return `move ${places[action] + 1}`;
  const place = places[(action - FIRST_GIMMICK) % MOVES];
  return `move ${place + 1} ${gimmickWord(active, place, compact.groups[Math.floor((action - FIRST_GIMMICK) / MOVES)])}`;
}

function report(compact, i, game) {
  compact.i.push(i);
  for (let seat = 0; seat < 2; seat++) {
    const request = game.request(seat);
    const kind = kindOf(request);
    compact.kind.push(KINDS[kind]);
    compact.mask.push(kind === "wait" ? 1 : maskOf(request, kind, game.order(seat), game.compact));
    if (game.rejected[seat]) compact.rej.push([i, seat, game.rejected[seat]]);
  }
  compact.turn.push(game.battle.turn);
  const end = game.end();
  if (end) compact.end.push([i, end]);
}

module.exports = { mode, choice, report };
