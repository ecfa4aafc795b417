// SPDX-License-Identifier: GPL-2.0-or-later
// A server, or a client with many sockets, for node:
//   node web.js serve ADDRESS PORT
//   node web.js ask NAME PORT CLIENTS REQUESTS [RESOLVE]
// Each request sends a body and wants its digest.  RESOLVE, a type such as A,
// has node ask the DNS servers itself as well; both ways must agree.
"use strict";
const crypto = require("crypto");
const dns = require("dns").promises;
const http = require("http");

const digest = (data) => crypto.createHash("sha256").update(data).digest("hex");

function serve(address, port) {
  const server = http.createServer((request, response) => {
    const hash = crypto.createHash("sha256");
    request.on("data", (part) => hash.update(part));
    request.on("end", () => response.end(hash.digest("hex")));
  });
  // On a slow machine five seconds are nothing.
  server.keepAliveTimeout = server.headersTimeout = server.requestTimeout = 0;
  server.listen({ host: address, port, backlog: 511 });
}

function post(options, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ ...options, method: "POST" }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part) => (text += part));
      response.on("end", () => resolve(text));
    });
    request.on("error", reject);
    request.end(body);
  });
}

// All clients hold their sockets to the end: so many are open at once.
async function ask(name, port, clients, requests, type) {
  if (type) {
    const found = await dns.lookup(name, { all: true });
    const answers = await dns.resolve(name, type);
    if (!found.some(({ address }) => address === answers[0])) {
      throw new Error(`${answers[0]} is none of ${JSON.stringify(found)}`);
    }
  }
  // Without the second number 256 of them are kept, and the rest made anew.
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients, maxFreeSockets: clients });
  let right = 0;
  const client = async (number) => {
    for (let count = 0; count < requests; count++) {
      const body = Buffer.alloc(1 + ((number * 7919 + count * 104729) % 20000), `${number} `);
      const text = await post({ host: name, port, agent }, body);
      if (text !== digest(body)) {
        throw new Error(`client ${number}: ${text}`);
      }
      right++;
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  const sockets = Object.values(agent.freeSockets).flat().length;
  console.log(`${right} right, ${sockets} sockets`);
  agent.destroy();
}

const [role, host, port, ...rest] = process.argv.slice(2);
if (role === "serve") {
  serve(host, Number(port));
} else {
  ask(host, Number(port), Number(rest[0]), Number(rest[1]), rest[2]).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
