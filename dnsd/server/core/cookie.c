/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS cookies: RFC 7873 with the server cookie of RFC 9018 */
#include <string.h>

#include "dnsd/server/core/cookie.h"
#include "base/octets.h"
#include "net/packet/siphash.h"

#define VERSION         1
/* with a server cookie of 32; RFC 7873 section 4 */
#define COOKIE_MAX      40
#define SERVER_MIN      8
#define HEAD            8       /* version, three reserved octets, time */

/* RFC 9018 section 4.3 */
#define OLDEST_S        3600
#define RENEW_S         1800
#define AHEAD_S         300

/* --- secrets -------------------------------------------------------------- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(uint8_t *to, const char *text, size_t len)
{
    if (len != 2 * DNSD_SECRET_LEN) {
        return false;
    }
    for (size_t i = 0; i < DNSD_SECRET_LEN; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = high << 4 | low;
    }
    return true;
}

static void add(DnsdSecrets *secrets, const uint8_t *octets)
{
    uint64_t *key = secrets->key[secrets->count++];

    for (unsigned i = 0; i < 2; i++) {
        memcpy(&key[i], octets + 8 * i, 8);
        key[i] = le64toh(key[i]);
    }
}

void dnsd_secrets_from(DnsdSecrets *secrets, const uint8_t *octets)
{
    secrets->count = 0;
    add(secrets, octets);
}

static size_t without_space(const char *line, size_t len)
{
    while (len && (line[len - 1] == ' ' || line[len - 1] == '\t' ||
                   line[len - 1] == '\r')) {
        len--;
    }
    return len;
}

unsigned dnsd_secrets_read(DnsdSecrets *secrets, const char *text, size_t len)
{
    DnsdSecrets read = { 0 };
    unsigned number = 0;

    for (size_t at = 0, next; at < len; at = next) {
        const char *line = text + at;
        const char *end = memchr(line, '\n', len - at);
        size_t octets = without_space(line, end ? (size_t)(end - line)
                                                : len - at);
        uint8_t secret[DNSD_SECRET_LEN];

        next = end ? (size_t)(end - text) + 1 : len;
        number++;
        if (!octets || *line == '#') {
            continue;
        }
        if (read.count == DNSD_SECRETS_MAX || !read_hex(secret, line, octets)) {
            return number;
        }
        add(&read, secret);
    }
    if (!read.count) {
        return number + 1;
    }
    *secrets = read;
    return 0;
}

/* --- cookies -------------------------------------------------------------- */

static void sign(const uint64_t key[2], const uint8_t *client,
                 const uint8_t *head, const uint8_t *addr, size_t addr_len,
                 uint8_t *to)
{
    uint8_t input[DNSD_CLIENT_COOKIE + HEAD + 16];
    uint64_t hash;

    memcpy(input, client, DNSD_CLIENT_COOKIE);
    memcpy(input + DNSD_CLIENT_COOKIE, head, HEAD);
    memcpy(input + DNSD_CLIENT_COOKIE + HEAD, addr, addr_len);
    hash = htole64(siphash_2_4(key, input,
                               DNSD_CLIENT_COOKIE + HEAD + addr_len));
    memcpy(to, &hash, sizeof(hash));
}

/* The time does not depend on which octets differ. */
static bool same(const uint8_t *a, const uint8_t *b)
{
    uint8_t differs = 0;

    for (unsigned i = 0; i < 8; i++) {
        differs |= a[i] ^ b[i];
    }
    return !differs;
}

/* The index of the secret that made the cookie; -1: none did */
static int signer(const DnsdSecrets *secrets, const uint8_t *option,
                  const uint8_t *addr, size_t addr_len)
{
    const uint8_t *server = option + DNSD_CLIENT_COOKIE;

    for (unsigned i = 0; i < secrets->count; i++) {
        uint8_t code[8];

        sign(secrets->key[i], option, server, addr, addr_len, code);
        if (same(code, server + HEAD)) {
            return i;
        }
    }
    return -1;
}

static void make(const DnsdSecrets *secrets, const uint8_t *client,
                 const uint8_t *addr, size_t addr_len, uint32_t now,
                 uint8_t *reply)
{
    uint8_t *server = reply + DNSD_CLIENT_COOKIE;
    const uint8_t head[HEAD] = {
        VERSION, 0, 0, 0, now >> 24, now >> 16, now >> 8, now,
    };

    memcpy(reply, client, DNSD_CLIENT_COOKIE);
    memcpy(server, head, HEAD);
    sign(secrets->key[0], client, head, addr, addr_len, server + HEAD);
}

DnsdCookie dnsd_cookie_judge(const DnsdSecrets *secrets, const uint8_t *option,
                             size_t len, const uint8_t *addr, size_t addr_len,
                             uint32_t now, uint8_t *reply)
{
    const uint8_t *server = option + DNSD_CLIENT_COOKIE;
    int32_t age;
    int by = -1;

    if (len != DNSD_CLIENT_COOKIE &&
        (len < DNSD_CLIENT_COOKIE + SERVER_MIN || len > COOKIE_MAX)) {
        return DNSD_COOKIE_MALFORMED;
    }
    if (len == DNSD_COOKIE_LEN && server[0] == VERSION) {
        age = (int32_t)(now - get_be32(server + 4));
        if (age <= OLDEST_S && age >= -AHEAD_S) {
            by = signer(secrets, option, addr, addr_len);
        }
        if (by == 0 && age < RENEW_S) {
            memcpy(reply, option, DNSD_COOKIE_LEN);
            return DNSD_COOKIE_VALID;
        }
    }
    make(secrets, option, addr, addr_len, now, reply);
    return by >= 0 ? DNSD_COOKIE_VALID : DNSD_COOKIE_CLIENT;
}
