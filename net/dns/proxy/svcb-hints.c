/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address hints of SVCB and HTTPS records, RFC 9460 section 7.3 */
#include <stdbool.h>
#include <string.h>

#include "net/dns/proxy/svcb-hints.h"
#include "base/octets.h"
#include "net/dns/wire/wire.h"

#define PRIORITY_LEN    2
#define PARAM_HEAD      4       /* octets of key and length */
#define KEY_LEN         2

static bool is_hint(uint16_t key)
{
    return key == DNS_SVCB_IPV4HINT || key == DNS_SVCB_IPV6HINT;
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
 * Copy the list of mandatory keys without the hints.  Returns the octets in
 * @out; 0 if no key is left.
 */
static size_t copy_mandatory(const uint8_t *value, size_t len, uint8_t *out)
{
    size_t done = PARAM_HEAD;

    for (size_t i = 0; i < len; i += KEY_LEN) {
        if (!is_hint(get_be16(value + i))) {
            memcpy(out + done, value + i, KEY_LEN);
            done += KEY_LEN;
        }
    }
    put_be16(out, DNS_SVCB_MANDATORY);
    put_be16(out + 2, done - PARAM_HEAD);
    return done > PARAM_HEAD ? done : 0;
}

/* Copy a parameter of @len octets.  Returns the octets in @out. */
static size_t copy_param(const uint8_t *param, size_t len, uint8_t *out)
{
    uint16_t key = get_be16(param);

    if (is_hint(key)) {
        return 0;
    }
    if (key == DNS_SVCB_MANDATORY) {
        return copy_mandatory(param + PARAM_HEAD, len - PARAM_HEAD, out);
    }
    memcpy(out, param, len);
    return len;
}

size_t dns_svcb_without_hints(const uint8_t *rdata, size_t len, uint8_t *out)
{
    bool alias_mode = !get_be16(rdata);
    size_t at = alias_mode ? len : params_at(rdata);
    size_t done = at;

    memcpy(out, rdata, at);
    while (at < len) {
        size_t size = PARAM_HEAD + get_be16(rdata + at + 2);

        done += copy_param(rdata + at, size, out + done);
        at += size;
    }
    return done;
}
