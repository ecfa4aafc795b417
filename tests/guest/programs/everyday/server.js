// SPDX-License-Identifier: GPL-2.0-or-later
// A server without an address, as most are written: node listens on [::].
"use strict";
require("http")
  .createServer((request, answer) => answer.end(`node for ${request.socket.remoteAddress}\n`))
  .listen(8001);
