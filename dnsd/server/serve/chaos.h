/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of class CHAOS: the identity of the server, and its version */
#ifndef DNSD_SERVER_SERVE_CHAOS_H
#define DNSD_SERVER_SERVE_CHAOS_H

#include "dnsd/server/serve/state.h"

/**
 * dnsd_chaos: reply to version.server, version.bind, id.server (RFC 4892) and
 * hostname.bind
 *
 * Returns: the length of the reply; 0 if the query is another one, or the name
 * is off.
 */
size_t dnsd_chaos(const DnsdServing *serving, const DnsQuery *query,
                  uint8_t *out, size_t room, DnsAnswerInfo *info);

#endif /* DNSD_SERVER_SERVE_CHAOS_H */
