/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of RDATA that have a structure of their own */
#include <errno.h>
#include <stdbool.h>

#include "base/octets.h"
#include "net/dns/wire/fields-internal.h"

#define WINDOW_MAX      32      /* octets of a window of a bitmap */
#define LOC_LEN         16
#define LOC_EQUATOR     (1u << 31)
#define LOC_DEGREE      3600000u
#define A6_PREFIX_MAX   128
#define SVCB_MANDATORY  0
#define SVCB_ALPN       1
#define SVCB_NO_DEFAULT 2
#define SVCB_PORT       3
#define SVCB_IPV4HINT   4
#define SVCB_IPV6HINT   6
#define SVCB_OHTTP      8       /* RFC 9540 section 4 */
#define SVCB_GROUPS     9       /* tls-supported-groups */
#define SVCB_DOCPATH    10

/* RFC 4034 section 4.1.2: windows ascend, and none ends in zeros. */
int dns_field_bitmap(const uint8_t *at, size_t left)
{
    int last = -1;

    for (size_t i = 0; i < left; ) {
        size_t len;

        if (left - i < 3 || at[i] <= last) {
            return -EBADMSG;
        }
        last = at[i];
        len = at[i + 1];
        if (!len || len > WINDOW_MAX || len > left - i - 2 ||
            !at[i + 1 + len]) {
            return -EBADMSG;
        }
        i += 2 + len;
    }
    return left;
}

/* RFC 1876 section 2: a size in centimetres is a digit and a power of ten. */
static bool is_loc_size(uint8_t size)
{
    return size >> 4 <= 9 && (size & 0xf) <= 9 && (size >> 4 || !size);
}

static bool is_loc_angle(uint32_t angle, unsigned degrees)
{
    return angle >= LOC_EQUATOR - degrees * LOC_DEGREE &&
           angle <= LOC_EQUATOR + degrees * LOC_DEGREE;
}

int dns_field_loc(const uint8_t *at, size_t left)
{
    return left == LOC_LEN && !at[0] && is_loc_size(at[1]) &&
           is_loc_size(at[2]) && is_loc_size(at[3]) &&
           is_loc_angle(get_be32(at + 4), 90) &&
           is_loc_angle(get_be32(at + 8), 180) ? LOC_LEN : -EBADMSG;
}

/* RFC 3123 section 4: an address does not end in zero octets. */
int dns_field_apl(const uint8_t *at, size_t left)
{
    for (size_t i = 0; i < left; ) {
        unsigned family, bits, len;

        if (left - i < 4) {
            return -EBADMSG;
        }
        family = get_be16(at + i);
        bits = at[i + 2];
        len = at[i + 3] & 0x7f;
        if (len > left - i - 4 || (len && !at[i + 3 + len]) ||
            (family == 1 && (bits > 32 || len > 4)) ||
            (family == 2 && (bits > 128 || len > 16))) {
            return -EBADMSG;
        }
        i += 4 + len;
    }
    return left;
}

int dns_field_hip(const uint8_t *at, size_t left)
{
    size_t hit, key;

    if (left < 4) {
        return -EBADMSG;
    }
    hit = at[0];
    key = get_be16(at + 2);
    return hit && key && hit + key <= left - 4 ? (int)(4 + hit + key) :
           -EBADMSG;
}

int dns_field_a6(const uint8_t *at, size_t left)
{
    unsigned octets;

    if (!left || at[0] > A6_PREFIX_MAX) {
        return -EBADMSG;
    }
    octets = (A6_PREFIX_MAX - at[0] + 7) / 8;
    if (octets > left - 1 ||
        (at[0] % 8 && at[1] >> (8 - at[0] % 8))) {
        return -EBADMSG;
    }
    return 1 + octets;
}

/* --- SVCB, RFC 9460 ------------------------------------------------------- */

static bool has_param(const uint8_t *params, size_t len, uint16_t key)
{
    for (size_t i = 0; i + 4 <= len; i += 4 + get_be16(params + i + 2)) {
        if (get_be16(params + i) == key) {
            return true;
        }
    }
    return false;
}

/* Section 8: mandatory keys ascend, are present, and do not include key 0. */
static bool is_mandatory(const uint8_t *value, size_t len,
                         const uint8_t *params, size_t left)
{
    int last = SVCB_MANDATORY;

    for (size_t i = 0; i + 2 <= len; i += 2) {
        int key = get_be16(value + i);

        if (key <= last || !has_param(params, left, key)) {
            return false;
        }
        last = key;
    }
    return len && !(len % 2);
}

/* Section 7.1.1: a list of one protocol or more, none of which is empty */
static bool is_alpn(const uint8_t *value, size_t len)
{
    size_t at = 0;

    while (at < len) {
        if (!value[at] || value[at] > len - at - 1) {
            return false;
        }
        at += 1 + value[at];
    }
    return len;
}

static bool is_value(uint16_t key, const uint8_t *value, size_t len,
                     const uint8_t *params, size_t left)
{
    switch (key) {
    case SVCB_MANDATORY:
        return is_mandatory(value, len, params, left);
    case SVCB_ALPN:
        return is_alpn(value, len);
    case SVCB_NO_DEFAULT:
        return !len && has_param(params, left, SVCB_ALPN);
    case SVCB_PORT:
        return len == 2;
    case SVCB_IPV4HINT:
        return len && !(len % 4);
    case SVCB_IPV6HINT:
        return len && !(len % 16);
    case SVCB_OHTTP:
        return !len;
    case SVCB_GROUPS:
        return len && !(len % 2);
    case SVCB_DOCPATH:
        return !len || is_alpn(value, len);
    default:
        return key != UINT16_MAX;
    }
}

int dns_field_svc_params(const uint8_t *at, size_t left)
{
    int last = -1;

    for (size_t i = 0; i < left; ) {
        size_t len;

        if (left - i < 4 || get_be16(at + i) <= last) {
            return -EBADMSG;
        }
        last = get_be16(at + i);
        len = get_be16(at + i + 2);
        if (len > left - i - 4 ||
            !is_value(last, at + i + 4, len, at, left)) {
            return -EBADMSG;
        }
        i += 4 + len;
    }
    return left;
}
