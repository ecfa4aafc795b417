/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EDNS options of a query, and those of its reply */
#ifndef DNSD_SERVER_SERVE_OPTIONS_H
#define DNSD_SERVER_SERVE_OPTIONS_H

#include "dnsd/server/serve/state.h"

typedef struct DnsdOptions {
    DnsdCookie cookie;
    uint8_t cookie_reply[DNSD_COOKIE_LEN];
    bool nsid;
    bool keepalive;
    bool wrong;                 /* FORMERR */
} DnsdOptions;

/** dnsd_options_read: parse the options of a query; sets query->reserve */
void dnsd_options_read(DnsdOptions *options, const DnsdServing *serving,
                       const DnsdClient *client, DnsQuery *query);

/**
 * dnsd_options_append: append the options of the reply
 *
 * Returns: the length of the reply.
 */
size_t dnsd_options_append(const DnsdOptions *options,
                           const DnsdServing *serving, uint8_t *out,
                           size_t len, size_t room, size_t opt_at);

#endif /* DNSD_SERVER_SERVE_OPTIONS_H */
