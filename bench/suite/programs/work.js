// SPDX-License-Identifier: MIT OR GPL-2.0-only
// work.js N: buffers, compression, parsing and hashing: what of node is served by malloc and not by its own heap.
"use strict";
const crypto = require("crypto"), fs = require("fs"), zlib = require("zlib");
const size = Number(process.argv[2]);
const hash = crypto.createHash("sha256");
let seed = 5;

function random(limit) {
	seed = (seed * 1103515245 + 12345) % 2147483648;
	return Math.floor(seed / 65536) % limit;
}

const live = new Array(400);
for (let i = 0; i < size; i++) {
	const buffer = Buffer.allocUnsafeSlow(64 + random(6000));
	buffer.fill(i & 255);
	const old = live[random(400)];
	live[random(400)] = buffer;
	if (old && i % 50 === 0)
		hash.update(old);
}
const rows = [];
for (let i = 0; i < size; i++)
	rows.push({ id: i, name: "row " + random(100000), tags: [i, String(i * 7), { deep: i % 3 === 0 }] });
for (let i = 0; i < 4; i++) {
	const text = JSON.stringify(rows.slice(0, size / (i + 1)));
	hash.update(String(zlib.gunzipSync(zlib.gzipSync(text, { level: 1 })).length));
	hash.update(String(JSON.parse(text).length));
	hash.update(String(text.match(/row [0-9]+5"/g).length));
}
console.log(hash.digest("hex"));
console.log("resident " + Number(fs.readFileSync("/proc/self/statm", "ascii").split(" ")[1]) * 4);
