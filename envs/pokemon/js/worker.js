"use strict";
// Holds battles of a simulator and answers messages, one JSON object per line. How lines come and go is the matter of who starts it:
// node.js reads and writes pipes, call.js is a function in an engine of JavaScript that lies in Python's process.

const hidden = require("./hidden.js");
const legality = require("./legality.js");

let host; // what differs between the two; see the end of this file
let Battle, Dex, Teams, TeamValidator;

const SEATS = ["p1", "p2"];
const NAMES = ["player_0", "player_1"];
const SEED = /^(gen5,[0-9a-f]{16}|sodium,[0-9a-f]{1,64}|[0-9]{1,5}(,[0-9]{1,5}){3})$/;
const games = new Map(); // number of a game -> Game

class Refused extends Error {
  constructor(kind, text, game = null) {
    super(text);
    this.kind = kind;
    this.game = game;
  }
}

class Game {
  constructor(battle, compact) {
    this.battle = battle;
    this.compact = compact; // null, or {gen, never, alpha}: legality in a few numbers instead of lines and requests
    this.seen = 0; // lines of the log that were handed out
    this.rejected = [null, null];
    this.played = []; // [choice of p1, choice of p2] of every step, refused choices included
    this.poisoned = false;
    const game = this;
    battle.send = (type, data) => {
      if (type !== "sideupdate") return;
      const line = (Array.isArray(data) ? data.join("\n") : data).split("\n");
      if (line[1].startsWith("|error|")) game.rejected[line[0] === "p1" ? 0 : 1] = line[1].slice(7);
    };
    // Nobody listens to updates. The marker must move all the same: a thousand unsent lines count as an endless loop.
    battle.sendUpdates = function () {
      this.sentLogPos = this.log.length;
      this.sentRequests = true;
    };
    battle.sendUpdates();
  }

  choose(choices) {
    const { battle } = this;
    this.rejected = [null, null];
    this.played.push(choices);
    for (let seat = 0; seat < 2; seat++) {
      if (choices[seat] !== null) battle.choose(SEATS[seat], choices[seat]);
    }
    battle.sendUpdates();
  }

  // The request of a seat that must choose, null for one that waits or has chosen.
  request(seat) {
    const side = this.battle.sides[seat];
    return side.requestState && !side.isChoiceDone() ? side.activeRequest : null;
  }

  order(seat) {
    const side = this.battle.sides[seat];
    return side.pokemon.map((pokemon) => side.team.indexOf(pokemon.set));
  }

  // New lines of the channels of both seats.
  lines() {
    const { log } = this.battle;
    const own = [[], []];
    for (let k = this.seen; k < log.length; k++) {
      const line = log[k];
      if (line.startsWith("|split|p")) {
        const secret = log[k + 1];
        const shared = log[k + 2];
        const owner = line.charCodeAt(8) - 49;
        for (let seat = 0; seat < 2; seat++) push(own[seat], seat === owner ? secret : shared);
        k += 2;
      } else if (!line.startsWith("|t:|")) {
        push(own[0], line);
        push(own[1], line);
      }
    }
    this.seen = log.length;
    return own;
  }

  omniscient() {
    const { log } = this.battle;
    const all = [];
    for (let k = 0; k < log.length; k++) {
      if (log[k].startsWith("|split|p")) {
        push(all, log[k + 1]);
        k += 2;
      } else if (!log[k].startsWith("|t:|")) push(all, log[k]);
    }
    return all;
  }

  end() {
    const { battle } = this;
    if (!battle.ended) return null;
    const winner = NAMES.indexOf(battle.winner);
    return {
      winner: winner < 0 ? "tie" : SEATS[winner],
      turns: battle.turn,
      input_log: battle.inputLog,
      log_sha256: host.sha256(this.omniscient().join("\n")),
    };
  }

  report(i) {
    return {
      i,
      req: [this.request(0), this.request(1)],
      order: [this.order(0), this.order(1)],
      lines: this.lines(),
      rej: this.rejected,
      turn: this.battle.turn,
      end: this.end(),
    };
  }
}

function push(lines, line) {
  if (line === "") return;
  if (line.includes("\n")) lines.push(...line.split("\n").filter(Boolean));
  else lines.push(line);
}

// ---- checks of messages

function listOf(message, name) {
  if (!Array.isArray(message[name])) throw new Refused("protocol", `${message.op}: "${name}" must be a list`);
  return message[name];
}

function gameNumber(value) {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new Refused("protocol", `the number of a game must be a whole number of at least 0, got ${shown(value)}`);
  }
  return value;
}

function held(value) {
  const game = games.get(gameNumber(value));
  if (!game) throw new Refused("protocol", `there is no game ${value}`, value);
  if (game.poisoned) throw new Refused("crash", `game ${value} crashed before; reset it`, value);
  return game;
}

function shown(value) {
  const text = JSON.stringify(value);
  return text === undefined ? String(value) : text.slice(0, 200);
}

function allFormats() {
  return Dex.formats.all().filter((format) => format.effectType === "Format");
}

function isSingles(format) {
  return format.gameType === "singles" && format.playerCount === 2;
}

function singles(id, game = null) {
  if (typeof id !== "string") throw new Refused("format", `a format must be a text, got ${shown(id)}`, game);
  const format = Dex.formats.get(id);
  if (!format.exists || format.effectType !== "Format") throw new Refused("format", `there is no format ${shown(id)}`, game);
  if (!isSingles(format)) throw new Refused("format", `${format.id} is not a singles format`, game);
  return format;
}

function seed(value, what, game) {
  if (typeof value !== "string" || !SEED.test(value)) {
    throw new Refused("protocol", `${what} must be a seed such as "gen5,0123456789abcdef", got ${shown(value)}`, game);
  }
  return value;
}

function player(value, format, seat, game) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new Refused("protocol", `${seat} must be {"seed": ..} or {"team": ..}, got ${shown(value)}`, game);
  }
  const options = { name: NAMES[SEATS.indexOf(seat)] };
  if (value.seed !== undefined) options.seed = seed(value.seed, `${seat}.seed`, game);
  if (value.team !== undefined) {
    const team = typeof value.team === "string" ? Teams.unpack(value.team) : null;
    if (!team || !team.length) throw new Refused("team", `${seat}.team must be a packed team, got ${shown(value.team)}`, game);
    options.team = value.team;
  } else if (!format.team) throw new Refused("team", `${format.id} needs a team for ${seat}`, game);
  else if (options.seed === undefined) throw new Refused("protocol", `${seat} needs a seed, from which its team is drawn`, game);
  return options;
}

function crash(i, game, error) {
  if (game) game.poisoned = true;
  const stack = String((error && error.stack) || error).split("\n").slice(0, 20).join("\n");
  return { i, crash: { text: stack, input_log: game ? game.battle.inputLog : [] } };
}

// ---- operations

const operations = {
  // Ids alone: to tell more of a format loads the data of its generation, which makes battles of the others slower.
  hello() {
    const listed = { singles: [], others: [] };
    for (const format of allFormats()) listed[isSingles(format) ? "singles" : "others"].push(format.id);
    return { protocol: 1, rules: host.rules, node: host.node, formats: listed };
  },

  // [id, generation, 1 with team preview, 1 if players bring teams] of every singles format.
  formats() {
    const told = allFormats().filter(isSingles).map((format) => {
      const preview = Dex.formats.getRuleTable(format).has("teampreview");
      return [format.id, Dex.forFormat(format).gen, preview ? 1 : 0, format.team ? 0 : 1];
    });
    return { formats: told };
  },

  reset(message) {
    const started = listOf(message, "games").map((wanted) => {
      if (wanted === null || typeof wanted !== "object") throw new Refused("protocol", `a game must be an object, got ${shown(wanted)}`);
      const i = gameNumber(wanted.i);
      const format = singles(wanted.format, i);
      return {
        i,
        compact: legality.mode(message.compact, Dex.forFormat(format).gen),
        options: { formatid: format.id, seed: seed(wanted.seed, "seed", i) },
        players: SEATS.map((seat) => player(wanted[seat], format, seat, i)),
      };
    });
    return answer(started, ({ i, compact, options, players }) => {
      games.delete(i);
      const battle = new Battle(options);
      const game = new Game(battle, compact);
      games.set(i, game);
      SEATS.forEach((seat, k) => battle.setPlayer(seat, players[k]));
      battle.sendUpdates();
      return game;
    });
  },

  step(message) {
    const steps = listOf(message, "choices").map((entry) => {
      if (!Array.isArray(entry) || entry.length !== 3) {
        throw new Refused("protocol", `a step must be [game, choice of p1, choice of p2], got ${shown(entry)}`);
      }
      const [i, ...choices] = entry;
      const game = held(i);
      if (game.battle.ended) throw new Refused("protocol", `game ${i} is over; reset it`, i);
      choices.forEach((choice, seat) => {
        if (choice !== null && typeof choice !== "string") {
          throw new Refused("protocol", `game ${i}: a choice must be a text or null, got ${shown(choice)}`, i);
        }
        if (choice !== null && !game.request(seat)) {
          throw new Refused("protocol", `game ${i}: ${SEATS[seat]} has nothing to choose, got ${shown(choice)}`, i);
        }
      });
      return { i, game, choices };
    });
    if (new Set(steps.map((step) => step.i)).size < steps.length) throw new Refused("protocol", "a game is named twice");
    return answer(steps, ({ game, choices }) => {
      game.choose(choices);
      return game;
    });
  },

  // Like step for games that were started with "compact": games and actions as flat lists of numbers; see legality.js.
  act(message) {
    const rows = listOf(message, "games").map(held);
    const actions = listOf(message, "actions");
    if (actions.length !== 2 * rows.length) throw new Refused("protocol", "actions: must be two for each game");
    const steps = rows.map((game, k) => {
      const i = message.games[k];
      if (!game.compact) throw new Refused("protocol", `game ${i} was not started with "compact"`, i);
      if (game.battle.ended) throw new Refused("protocol", `game ${i} is over; reset it`, i);
      const choices = [0, 1].map((seat) => {
        const request = game.request(seat);
        if (!request) return null;
        const choice = legality.choice(request, game.order(seat), game.compact, actions[2 * k + seat]);
        if (choice === null) throw new Refused("protocol", `game ${i}: action ${shown(actions[2 * k + seat])} is not legal`, i);
        return choice;
      });
      return { i, game, choices };
    });
    return answer(steps, ({ game, choices }) => {
      game.choose(choices);
      return game;
    });
  },

  clone(message) {
    const pairs = listOf(message, "pairs").map((pair) => {
      if (!Array.isArray(pair) || pair.length !== 2) throw new Refused("protocol", `a pair must be [from, to], got ${shown(pair)}`);
      return { from: held(pair[0]), to: gameNumber(pair[1]) };
    });
    const texts = new Map([...new Set(pairs.map(({ from }) => from))].map((from) => [from, exported(from)]));
    const copies = pairs.map(({ from }) => imported(texts.get(from))); // all are read before one is replaced
    pairs.forEach(({ to }, k) => games.set(to, copies[k]));
    return {};
  },

  // What a seat of each game does not know, drawn anew; see hidden.js. Answers as `step` does.
  redraw(message) {
    const entries = listOf(message, "games").map((entry) => {
      if (!Array.isArray(entry) || entry.length !== 3 || ![0, 1].includes(entry[1]) || !SEED.test(entry[2])) {
        throw new Refused("protocol", `redraw: a game must be [game, seat, seed], got ${shown(entry)}`);
      }
      const [i, seat, seed] = entry;
      const game = held(i);
      if (game.battle.format.id !== hidden.FORMAT) throw new Refused("protocol", `game ${i}: only ${hidden.FORMAT} is redrawn`, i);
      return { i, game, seat, seed };
    });
    return answer(entries, ({ game, seat, seed }) => {
      hidden.redraw(game.battle, seat, seed, Teams);
      game.battle.sendUpdates();
      return game;
    });
  },

  log(message) {
    return {
      games: listOf(message, "games").map((i) => {
        const game = held(i);
        const { battle } = game;
        return {
          i,
          log: game.omniscient(),
          input_log: battle.inputLog,
          played: game.played,
          teams: battle.sides.map((side) => Teams.pack(side.team)),
          end: game.end(),
        };
      }),
    };
  },

  // Games as texts, for another worker: everything that `copied` copies.
  export(message) {
    return { games: listOf(message, "games").map((i) => ({ i, text: exported(held(i)) })) };
  },

  import(message) {
    const entries = listOf(message, "games").map((entry) => {
      if (entry === null || typeof entry !== "object" || typeof entry.text !== "string") {
        throw new Refused("protocol", `import: a game must be {"i": .., "text": ..}, got ${shown(entry)}`);
      }
      return { i: gameNumber(entry.i), text: entry.text };
    });
    return answer(entries, ({ i, text }) => {
      games.set(i, imported(text));
      return games.get(i);
    });
  },

  // The hidden truth of a game, for tests and privileged critics: the simulator's own state.
  state(message) {
    return { games: listOf(message, "games").map((i) => ({ i, state: held(i).battle.toJSON() })) };
  },

  report(message) {
    return { games: listOf(message, "games").map((i) => held(i).report(i)) };
  },

  drop(message) {
    for (const i of listOf(message, "games")) games.delete(gameNumber(i));
    return {};
  },

  validate(message) {
    const format = singles(message.format);
    const team = typeof message.team === "string" ? Teams.import(message.team) : null;
    if (!team || !team.length) return { problems: ["no Pokémon could be read from the team"], team: "" };
    const problems = TeamValidator.get(format).validateTeam(team) || [];
    return { problems, team: Teams.pack(team) };
  },

  pack(message) {
    const team = typeof message.team === "string" ? Teams.import(message.team) : null;
    if (!team || !team.length) throw new Refused("team", `no Pokémon could be read from the team ${shown(message.team)}`);
    return { team: Teams.pack(team) };
  },

  close() {
    host.close();
    return {};
  },
};

function exported(game) {
  return JSON.stringify({
    state: game.battle.toJSON(),
    requests: game.battle.sides.map((side) => side.activeRequest), // a corrected request is not part of the simulator's state
    compact: game.compact,
    seen: game.seen,
    rejected: game.rejected,
    played: game.played,
  });
}

function imported(text) {
  const { state, requests, compact, seen, rejected, played } = JSON.parse(text);
  const battle = Battle.fromJSON(state);
  battle.sides.forEach((side, seat) => {
    side.activeRequest = requests[seat];
  });
  return Object.assign(new Game(battle, compact), { seen, rejected, played });
}

function answer(rows, play) {
  const reports = [];
  const compact = { i: [], kind: [], mask: [], turn: [], end: [], rej: [] };
  for (const row of rows) {
    let game = null;
    try {
      game = play(row);
      if (game.compact) legality.report(compact, row.i, game);
      else reports.push(game.report(row.i));
    } catch (error) {
      reports.push(crash(row.i, games.get(row.i), error));
    }
  }
  return compact.i.length ? { games: reports, compact } : { games: reports };
}

// ---- lines

function answerOf(line) {
  let n = null;
  try {
    let message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      throw new Refused("protocol", `the line is not JSON: ${error.message}`);
    }
    if (message === null || typeof message !== "object" || Array.isArray(message)) {
      throw new Refused("protocol", `a message must be an object, got ${shown(message)}`);
    }
    n = Number.isSafeInteger(message.n) ? message.n : null;
    if (!Object.prototype.hasOwnProperty.call(operations, message.op)) {
      throw new Refused("protocol", `op must be one of ${Object.keys(operations).join(", ")}, got ${shown(message.op)}`);
    }
    return JSON.stringify({ n, ...operations[message.op](message) });
  } catch (error) {
    const known = error instanceof Refused;
    const text = known ? error.message : String((error && error.stack) || error).split("\n").slice(0, 20).join("\n");
    return JSON.stringify({ n, error: { game: known ? error.game : null, kind: known ? error.kind : "crash", text } });
  }
}

// Start without battles; returns the function from a line to its answer.
//   simulator: { rules, Battle, Dex, Teams, TeamValidator }, "name version" of the package and parts of it
//   engine: { node, sha256, close }: Node's version, null without Node; the hash of a text in hex; called when "close" is answered
module.exports = function start(simulator, engine) {
  ({ Battle, Dex, Teams, TeamValidator } = simulator);
  host = { rules: simulator.rules, ...engine };
  return answerOf;
};
