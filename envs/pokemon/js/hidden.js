"use strict";
// What a seat does not know of a random battle of generation 1, drawn anew: the foe's Pokémon that were not on the field yet, moves
// that were not seen, how long sleep, confusion and Disable still last, and all chance to come.

const TRIES = 50; // sets that the generator draws for a Pokémon until one has all moves that were seen
const FORMAT = "gen1randombattle";

// Moves that each Pokémon of a side was seen to make, by its name; those that another move called are not its own.
function seenMoves(battle, side, dex) {
  const seen = new Map();
  const start = `|move|${side.id}a: `;
  for (const line of battle.log) {
    if (!line.startsWith(start)) continue;
    const [name, move, , from] = line.slice(start.length).split("|");
    if (from && from.startsWith("[from]") && dex.moves.get(from.slice(6)).id !== dex.moves.get(move).id) continue;
    if (!seen.has(name)) seen.set(name, new Set());
    seen.get(name).add(dex.moves.get(move).id);
  }
  return seen;
}

// A Pokémon of a side that is not one of its team.
function made(side, set) {
  const pokemon = side.addPokemon(set);
  side.pokemon.pop();
  side.pokemonLeft--;
  return pokemon;
}

// A set with these moves; the last one that was drawn if none has them all.
function setWith(generator, species, moves) {
  let set;
  for (let tries = 0; tries < TRIES; tries++) {
    set = generator.randomSet(species);
    if ([...moves].every((move) => set.moves.includes(move))) return set;
  }
  return set;
}

function redrawMoves(pokemon, generator, seen, side) {
  const known = pokemon.baseMoveSlots.filter((slot) => seen.has(slot.id));
  if (known.length === pokemon.baseMoveSlots.length || pokemon.moveSlots.some((slot) => slot.virtual)) return;
  const ids = new Set(known.map((slot) => slot.id));
  const fresh = made(side, setWith(generator, pokemon.baseSpecies, ids)).baseMoveSlots.filter((slot) => !ids.has(slot.id));
  pokemon.baseMoveSlots = pokemon.baseMoveSlots.map((slot) => (ids.has(slot.id) ? slot : fresh.pop() || slot));
  pokemon.set.moves = pokemon.baseMoveSlots.map((slot) => slot.id);
  if (!pokemon.transformed) pokemon.moveSlots = pokemon.baseMoveSlots.slice();
}

function redrawBench(side, places, generator) {
  const taken = new Set(side.pokemon.filter((_, k) => !places.includes(k)).map((pokemon) => pokemon.baseSpecies.id));
  let spare = [];
  for (const place of places) {
    while (!spare.length) spare = generator.getTeam().filter((set) => !taken.has(side.battle.dex.species.get(set.species).id));
    const set = spare.pop();
    taken.add(side.battle.dex.species.get(set.species).id);
    const old = side.pokemon[place];
    const pokemon = made(side, set);
    pokemon.position = old.position;
    side.pokemon[place] = pokemon;
    side.team[side.team.indexOf(old.set)] = pokemon.set;
  }
}

function redrawLengths(battle, pokemon) {
  const { prng } = battle;
  const sleep = pokemon.statusState;
  if (pokemon.status === "slp" && sleep.source !== pokemon) {
    const slept = sleep.startTime - sleep.time;
    sleep.startTime = prng.random(slept + 1, 8);
    sleep.time = sleep.startTime - slept;
  }
  const { confusion, disable } = pokemon.volatiles;
  if (confusion) confusion.time = prng.random(1, 6);
  if (disable) disable.time = prng.random(1, 9);
}

// Draws anew what `seat` does not know. `seed` is a text "gen5,<16 hexadecimal digits>".
function redraw(battle, seat, seed, Teams) {
  const side = battle.sides[1 - seat];
  battle.prng = new battle.prng.constructor(seed);
  const { prng } = battle;
  const generator = Teams.getGenerator(FORMAT, [0, 1, 2, 3].map(() => prng.random(2 ** 16)).join(","));
  const seen = seenMoves(battle, side, battle.dex);
  const hidden = [];
  side.pokemon.forEach((pokemon, place) => {
    if (!pokemon.previouslySwitchedIn && !pokemon.isActive) hidden.push(place);
    else if (pokemon.hp) redrawMoves(pokemon, generator, seen.get(pokemon.name) || new Set(), side);
  });
  redrawBench(side, hidden, generator);
  for (const one of battle.sides) one.pokemon.forEach((pokemon) => redrawLengths(battle, pokemon));
  if (!battle.ended) battle.makeRequest();
}

module.exports = { FORMAT, redraw };
