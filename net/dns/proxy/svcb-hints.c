/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What leads a guest astray in SVCB and HTTPS records, RFC 9460 */
#include <stdbool.h>
#include <string.h>

#include "net/dns/proxy/svcb-hints.h"
#include "base/octets.h"
#include "net/dns/wire/wire.h"

#define PRIORITY_LEN    2
#define PARAM_HEAD      4       /* octets of key and length */
#define KEY_LEN         2
#define IN6_LEN         sizeof(struct in6_addr)

/* The addresses and keys that stay */
typedef struct Keep {
    const DnsProxyAddress *addr;
    size_t num;
    bool ipv6hint;              /* one of them is in this record */
    bool ech;
} Keep;

static bool is_kept(const Keep *keep, const uint8_t *addr6)
{
    for (size_t i = 0; i < keep->num; i++) {
        if (!memcmp(&keep->addr[i].addr6, addr6, IN6_LEN)) {
            return true;
        }
    }
    return false;
}

static bool is_removed(const Keep *keep, uint16_t key)
{
    return key == DNS_SVCB_IPV4HINT || (key == DNS_SVCB_ECH && !keep->ech) ||
           (key == DNS_SVCB_IPV6HINT && !keep->ipv6hint);
}

/* The offset of the parameters, behind a name that is not compressed */
static size_t params_at(const uint8_t *rdata)
{
    size_t at = PRIORITY_LEN;

    while (rdata[at]) {
        at += 1 + rdata[at];
    }
    return at + 1;
}

/*
 * Copy the entries of a list, of @size octets each, that @keeps lets through.
 * Returns the octets in @out; 0 if there is none.
 */
static size_t copy_list(const uint8_t *param, size_t len, size_t size,
                        bool (*keeps)(const Keep *keep, const uint8_t *entry),
                        const Keep *keep, uint8_t *out)
{
    size_t done = PARAM_HEAD;

    for (size_t i = PARAM_HEAD; i < len; i += size) {
        if (keeps(keep, param + i)) {
            memcpy(out + done, param + i, size);
            done += size;
        }
    }
    memcpy(out, param, KEY_LEN);
    put_be16(out + KEY_LEN, done - PARAM_HEAD);
    return done > PARAM_HEAD ? done : 0;
}

static bool stays_mandatory(const Keep *keep, const uint8_t *key)
{
    return !is_removed(keep, get_be16(key));
}

/* Copy a parameter of @len octets.  Returns the octets in @out. */
static size_t copy_param(const uint8_t *param, size_t len, const Keep *keep,
                         uint8_t *out)
{
    uint16_t key = get_be16(param);

    if (is_removed(keep, key)) {
        return 0;
    }
    if (key == DNS_SVCB_MANDATORY) {
        return copy_list(param, len, KEY_LEN, stays_mandatory, keep, out);
    }
    if (key == DNS_SVCB_IPV6HINT) {
        return copy_list(param, len, IN6_LEN, is_kept, keep, out);
    }
    memcpy(out, param, len);
    return len;
}

static size_t param_len(const uint8_t *param)
{
    return PARAM_HEAD + get_be16(param + KEY_LEN);
}

/* The list of mandatory keys comes first, so look ahead. */
static bool keeps_ipv6hint(const Keep *keep, const uint8_t *params, size_t len)
{
    for (size_t at = 0; at < len; at += param_len(params + at)) {
        if (get_be16(params + at) != DNS_SVCB_IPV6HINT) {
            continue;
        }
        for (size_t i = PARAM_HEAD; i < param_len(params + at); i += IN6_LEN) {
            if (is_kept(keep, params + at + i)) {
                return true;
            }
        }
    }
    return false;
}

size_t dns_svcb_keep_hints(const uint8_t *rdata, size_t len,
                           const DnsProxyAddress *addr, size_t num, bool ech,
                           uint8_t *out)
{
    bool alias_mode = !get_be16(rdata);
    size_t at = alias_mode ? len : params_at(rdata);
    Keep keep = { .addr = addr, .num = num, .ech = ech };
    size_t done = at;

    keep.ipv6hint = keeps_ipv6hint(&keep, rdata + at, len - at);
    memcpy(out, rdata, at);
    while (at < len) {
        size_t size = param_len(rdata + at);

        done += copy_param(rdata + at, size, &keep, out + done);
        at += size;
    }
    return done;
}
