/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS cookies (RFC 7873) that all servers with one secret take (RFC 9018)
 *
 * A server keeps nothing for a client: the cookie has the time and a code over
 * it, the client's cookie and the client's address.
 */
#ifndef NET_DNS_SERVER_CORE_COOKIE_H
#define NET_DNS_SERVER_CORE_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNSD_CLIENT_COOKIE      8
#define DNSD_SERVER_COOKIE      16
#define DNSD_COOKIE_LEN         (DNSD_CLIENT_COOKIE + DNSD_SERVER_COOKIE)
#define DNSD_SECRETS_MAX        4
#define DNSD_SECRET_LEN         16

/* The first is for cookies that are made, all are for those that come back. */
typedef struct DnsdSecrets {
    unsigned count;
    uint64_t key[DNSD_SECRETS_MAX][2];
} DnsdSecrets;

typedef enum DnsdCookie {
    DNSD_COOKIE_NONE,           /* the query has no option COOKIE */
    DNSD_COOKIE_MALFORMED,      /* FORMERR, RFC 7873 section 5.2.2 */
    DNSD_COOKIE_CLIENT,         /* no server cookie, or none of ours */
    DNSD_COOKIE_VALID,
} DnsdCookie;

/**
 * dnsd_secrets_read: from the text of a file
 *
 * A line has 32 hexadecimal digits; what begins with '#' is a comment.
 *
 * Returns: 0, or the number of the line that is wrong; the last line plus one
 * if there is no secret.  @secrets is changed only with 0.
 */
unsigned dnsd_secrets_read(DnsdSecrets *secrets, const char *text, size_t len);

/** dnsd_secrets_from: one secret of DNSD_SECRET_LEN (random) octets. */
void dnsd_secrets_from(DnsdSecrets *secrets, const uint8_t *octets);

/**
 * dnsd_cookie_judge: what an option COOKIE is worth
 * @option: its @len octets
 * @addr: the client's address, 4 or 16 octets
 * @now: seconds since 1970, which wrap as RFC 1982 says
 * @reply: DNSD_COOKIE_LEN octets, the option for the reply: with VALID and
 *         CLIENT
 */
DnsdCookie dnsd_cookie_judge(const DnsdSecrets *secrets, const uint8_t *option,
                             size_t len, const uint8_t *addr, size_t addr_len,
                             uint32_t now, uint8_t *reply);

#endif /* NET_DNS_SERVER_CORE_COOKIE_H */
