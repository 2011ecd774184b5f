"use strict";
// SHA-256 (FIPS 180-4) of a text in UTF-8, for engines of JavaScript without a library; a test compares it with another implementation.

const BLOCK = 64;
const { initial, constants } = fractions();

// The first 32 bits of the fractions of square roots (the first 8 primes) and cube roots (the first 64).
function fractions() {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const bits = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
  return {
    initial: primes.slice(0, 8).map((prime) => bits(Math.sqrt(prime))),
    constants: Int32Array.from(primes, (prime) => bits(Math.cbrt(prime))),
  };
}

// The text in UTF-8, padded to whole blocks; half a surrogate pair is written as U+FFFD, as Node does.
function padded(text) {
  const bytes = new Uint8Array(Math.ceil((3 * text.length + 9) / BLOCK) * BLOCK);
  let size = 0;
  for (const letter of text) {
    let code = letter.codePointAt(0);
    if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
    if (code < 0x80) bytes[size++] = code;
    else {
      const more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      bytes[size++] = (more === 1 ? 0xc0 : more === 2 ? 0xe0 : 0xf0) | (code >> (6 * more));
      for (let k = more - 1; k >= 0; k--) bytes[size++] = 0x80 | ((code >> (6 * k)) & 0x3f);
    }
  }
  bytes[size] = 0x80;
  const used = bytes.subarray(0, Math.ceil((size + 9) / BLOCK) * BLOCK);
  const view = new DataView(used.buffer, 0, used.length);
  view.setUint32(used.length - 8, Math.floor(size / 2 ** 29));
  view.setUint32(used.length - 4, size << 3);
  return view;
}

const right = (word, count) => (word >>> count) | (word << (32 - count));

function compress(state, view, start, schedule) {
  for (let t = 0; t < 16; t++) schedule[t] = view.getInt32(start + 4 * t);
  for (let t = 16; t < 64; t++) {
    const early = schedule[t - 15];
    const late = schedule[t - 2];
    const small0 = right(early, 7) ^ right(early, 18) ^ (early >>> 3);
    const small1 = right(late, 17) ^ right(late, 19) ^ (late >>> 10);
    schedule[t] = schedule[t - 16] + small0 + schedule[t - 7] + small1;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const first = (h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + constants[t] + schedule[t]) | 0;
    const second = ((right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, k) => {
    state[k] += word;
  });
}

module.exports = function sha256(text) {
  const view = padded(text);
  const state = Int32Array.from(initial);
  const schedule = new Int32Array(64);
  for (let start = 0; start < view.byteLength; start += BLOCK) compress(state, view, start, schedule);
  return Array.from(state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
};
