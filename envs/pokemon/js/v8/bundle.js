"use strict";
// What `ludory pokemon install --v8` bundles into one file: the simulator under the names that pokemon-showdown has for its parts.

const { Battle, Dex, Teams, TeamValidator } = require("@pkmn/sim");
const { TeamGenerators } = require("@pkmn/randoms");
const { name, version } = require("./node_modules/@pkmn/sim/package.json");

Teams.setGeneratorFactory(TeamGenerators); // pokemon-showdown has the generators of random teams in itself
globalThis.Simulator = { rules: `${name} ${version}`, Battle, Dex, Teams, TeamValidator };
