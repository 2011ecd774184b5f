"use strict";
// The worker as a function, in an engine of JavaScript without Node: globalThis.answer(line) returns the answer. The bundle of
// v8/bundle.js was evaluated before.

const start = require("./worker.js");
const sha256 = require("./sha256.js");

globalThis.answer = start(globalThis.Simulator, { node: null, sha256, close() {} });
