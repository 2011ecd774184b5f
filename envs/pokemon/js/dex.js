'use strict';
// Prints the numbers of the installed simulator as one JSON object, for `tools/pokemon_dex.py`:
//   node dex.js FOLDER      FOLDER holds node_modules/pokemon-showdown
// Fields that are functions (what a move does in code) do not survive JSON; generate.py lists what it needs of those.
const path = require('path');
const root = path.join(process.argv[2], 'node_modules', 'pokemon-showdown');
const { Dex } = require(root);

const vocabulary = {};
const names = {};
for (const kind of ['species', 'moves', 'items', 'abilities', 'types']) {
  // By name: the sixteen Hidden Powers share the id of the move that they are.
  vocabulary[kind] = Dex[kind].all().map((entry) => Dex.toID(entry.name)).sort();
  const written = Object.fromEntries(Dex[kind].all().map((entry) => [Dex.toID(entry.name), entry.name]));
  names[kind] = vocabulary[kind].map((id) => written[id]);
}
const cosmetic = {};
for (const species of Dex.species.all()) {
  for (const forme of species.cosmeticFormes || []) {
    const id = Dex.toID(forme);
    if (!vocabulary.species.includes(id)) cosmetic[id] = species.id;
  }
}

const MOVE_FIELDS = ['gen', 'type', 'target', 'basePower', 'accuracy', 'priority', 'category', 'pp', 'noPPBoosts', 'flags',
  'status', 'volatileStatus', 'sideCondition', 'weather', 'terrain', 'pseudoWeather', 'boosts', 'self', 'selfBoost',
  'secondaries', 'recoil', 'drain', 'heal', 'multihit', 'selfSwitch', 'selfdestruct', 'forceSwitch', 'stallingMove',
  'hasCrashDamage', 'mindBlownRecoil', 'ohko', 'damage', 'struggleRecoil', 'isZ', 'isMax'];
const generations = {};
for (let gen = 1; gen <= 9; gen++) {
  const dex = Dex.forGen(gen);
  const moves = {};
  for (const id of vocabulary.moves) {
    const move = dex.moves.get(id);
    moves[id] = Object.fromEntries(MOVE_FIELDS.map((name) => [name, move[name]]));
  }
  const species = {};
  for (const id of vocabulary.species) {
    const entry = dex.species.get(id);
    species[id] = { gen: entry.gen, stats: entry.baseStats, types: entry.types.map(Dex.toID), weight: entry.weightkg,
      abilities: Object.values(entry.abilities).map(Dex.toID), base: Dex.toID(entry.baseSpecies), gender: entry.gender,
      requiredAbility: Dex.toID(entry.requiredAbility) };
  }
  const taken = {};
  for (const id of vocabulary.types) taken[id] = dex.types.get(id).damageTaken;
  const names = Object.fromEntries(vocabulary.types.map((id) => [Dex.types.get(id).name, id]));
  generations[gen] = { moves, species, taken, names };
}
process.stdout.write(JSON.stringify({
  rules: 'pokemon-showdown ' + require(path.join(root, 'package.json')).version, vocabulary, names, cosmetic, generations }));
