/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS cookies (RFC 7873) that all servers with the same secret accept (RFC
 * 9018)
 *
 * The server has no state for a client: the cookie consists of the time and a
 * MAC of it, the client cookie and the address of the client.
 */
#ifndef DNSD_SERVER_CORE_COOKIE_H
#define DNSD_SERVER_CORE_COOKIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNSD_CLIENT_COOKIE      8
#define DNSD_SERVER_COOKIE      16
#define DNSD_COOKIE_LEN         (DNSD_CLIENT_COOKIE + DNSD_SERVER_COOKIE)
#define DNSD_SECRETS_MAX        4
#define DNSD_SECRET_LEN         16

/* The first secret makes cookies; all secrets are accepted. */
typedef struct DnsdSecrets {
    unsigned count;
    uint64_t key[DNSD_SECRETS_MAX][2];
} DnsdSecrets;

typedef enum DnsdCookie {
    DNSD_COOKIE_NONE,           /* the query has no option COOKIE */
    DNSD_COOKIE_MALFORMED,      /* FORMERR, RFC 7873 section 5.2.2 */
    DNSD_COOKIE_CLIENT,         /* no server cookie, or not a valid one */
    DNSD_COOKIE_VALID,
} DnsdCookie;

/**
 * dnsd_secrets_read: parse the text of a file
 *
 * Each line has 32 hexadecimal digits.  A line that begins with '#' is a
 * comment.
 *
 * Returns: 0; or the number of the wrong line, or of the last line plus one if
 * there is no secret.  @secrets is only changed on success.
 */
unsigned dnsd_secrets_read(DnsdSecrets *secrets, const char *text, size_t len);

/** dnsd_secrets_from: set one secret of DNSD_SECRET_LEN (random) octets */
void dnsd_secrets_from(DnsdSecrets *secrets, const uint8_t *octets);

/**
 * dnsd_cookie_judge: check a COOKIE option
 * @option: its @len octets
 * @addr: address of the client, 4 or 16 octets
 * @now: seconds since 1970, which wrap as in RFC 1982
 * @reply: DNSD_COOKIE_LEN octets: for VALID and CLIENT the option of the reply
 */
DnsdCookie dnsd_cookie_judge(const DnsdSecrets *secrets, const uint8_t *option,
                             size_t len, const uint8_t *addr, size_t addr_len,
                             uint32_t now, uint8_t *reply);

#endif /* DNSD_SERVER_CORE_COOKIE_H */
