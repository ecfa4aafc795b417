/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest whose DNS proxy asks a server of the test, on a socket */
#ifndef TESTS_UNIT_SERVER_DNS_FIXTURE_H
#define TESTS_UNIT_SERVER_DNS_FIXTURE_H

#include "tests/unit/server-fixture.h"

#define TYPE_A      1
#define TYPE_AAAA   28

/* A guest with an upstream server of our own. */
typedef struct Dns {
    Fx *fx;
    int fd;                     /* the server's socket */
    unsigned queries;           /* seen by it */
    bool lame;                  /* lame: no recursion, and no names */
    bool nxdomain;              /* for all names except ipv4only.arpa */
    bool silent;                /* keep the query instead of answering */
    const char *addr6;          /* address of all names; NULL: the peer's */
    const char *addr4;          /* instead: names have this A, no AAAA */
    const char *nat64;          /* of ipv4only.arpa, with blanks; NULL: none */
    uint32_t ttl_s;
    uint8_t kept[512];
    ssize_t kept_len;
    struct sockaddr_in6 kept_from;
} Dns;

/* @nat64_auto: as nat64-prefix=auto */
void dns_init_policy(Dns *d, bool nat64_auto, const char *policy);

/* The same, and this host's addresses are allowed. */
void dns_init(Dns *d, bool nat64_auto);

/* The server is at FX_LINK6, on the link lo. */
void dns_init_link(Dns *d);

/* A second server is on the interface late0, which need not exist. */
void dns_init_late(Dns *d);

void dns_clear(Dns *d);

/*
 * Each name has exactly one address, except ipv4only.arpa, which may have more.
 */
void dns_send_reply(Dns *d, const uint8_t *query, ssize_t len,
                    const struct sockaddr_in6 *to);

#endif /* TESTS_UNIT_SERVER_DNS_FIXTURE_H */
