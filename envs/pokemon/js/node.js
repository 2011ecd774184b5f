"use strict";
// A worker as a child process: lines on standard input and output. It is started in the folder that has the simulator in its
// node_modules, and ends when its input ends or its parent dies.

const { createHash } = require("node:crypto");
const start = require("./worker.js");

const PACKAGE = "pokemon-showdown";
const at = { paths: [process.cwd()] };
const { version } = require(require.resolve(`${PACKAGE}/package.json`, at));
const { Battle, Dex, Teams, TeamValidator } = require(require.resolve(PACKAGE, at));
const answerOf = start(
  { rules: `${PACKAGE} ${version}`, Battle, Dex, Teams, TeamValidator },
  {
    node: process.version,
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
    close() {
      process.exitCode = 0;
      setImmediate(() => process.exit(0));
    },
  },
);

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(1); // a forked copy of the parent may keep our input open
}, 1000).unref();
process.on("SIGINT", () => {});
process.stdout.on("error", () => process.exit(1));
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  rest += chunk;
  let start = 0;
  for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n", start)) {
    const line = rest.slice(start, end);
    start = end + 1;
    if (line.trim()) process.stdout.write(answerOf(line) + "\n");
  }
  rest = rest.slice(start);
});
process.stdin.on("end", () => process.exit(0));
