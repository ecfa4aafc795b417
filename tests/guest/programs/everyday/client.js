// SPDX-License-Identifier: GPL-2.0-or-later
// A page, and a datagram of a socket of udp6 to each address: node client.js URL ADDRESS...
"use strict";
const [url, ...addresses] = process.argv.slice(2);
require("http").get(url, (answer) => answer.pipe(process.stdout, { end: false }));
const socket = require("dgram").createSocket("udp6");
let left = addresses.length;
socket.on("message", (data) => {
  console.log(`${data}`);
  if (--left === 0) {
    socket.close();
  }
});
addresses.forEach((address) => socket.send("datagram", 7, address));
