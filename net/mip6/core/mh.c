/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mobility headers, and the extension headers that accompany them (RFC 6275
 * section 6)
 *
 * A message has a fixed part, which depends on its type, and options. A table
 * has the lengths of the fixed parts; one function for each type parses or
 * builds it. Parsing never reads after the header's own length, nor after the
 * end of the packet.
 */
#include <string.h>

#include "net/mip6/core/mh.h"
#include "base/octets.h"
#include "net/packet/ip6.h"
#include "net/packet/sum.h"

#define CHECKSUM_AT     4u

/* Length before the options, by type (section 6.1). */
static const uint8_t fixed_len[] = {
    [MIP6_MH_BRR] = 8,
    [MIP6_MH_HOTI] = 16,
    [MIP6_MH_COTI] = 16,
    [MIP6_MH_HOT] = 24,
    [MIP6_MH_COT] = 24,
    [MIP6_MH_BU] = 12,
    [MIP6_MH_BA] = 12,
    [MIP6_MH_BE] = 24,
};

static bool is_known(uint8_t type)
{
    return type < sizeof(fixed_len);
}

/* --- parsing -------------------------------------------------------------- */

static void read_fixed(Mip6Mh *mh, const uint8_t *p)
{
    switch (mh->type) {
    case MIP6_MH_HOTI:
    case MIP6_MH_COTI:
        mh->cookie = get_be64(p + 8);
        break;
    case MIP6_MH_HOT:
    case MIP6_MH_COT:
        mh->nonce_index = get_be16(p + 6);
        mh->cookie = get_be64(p + 8);
        mh->token = get_be64(p + 16);
        break;
    case MIP6_MH_BU:
        mh->sequence = get_be16(p + 6);
        mh->flags = get_be16(p + 8);
        mh->lifetime = get_be16(p + 10);
        break;
    case MIP6_MH_BA:
        mh->status = p[6];
        mh->flags = p[7];
        mh->sequence = get_be16(p + 8);
        mh->lifetime = get_be16(p + 10);
        break;
    case MIP6_MH_BE:
        mh->status = p[6];
        memcpy(&mh->home, p + 8, sizeof(mh->home));
        break;
    }
}

/* An option with an invalid length is treated as unknown. */
static void read_option(Mip6Mh *mh, const uint8_t *p)
{
    uint8_t len = p[1];

    switch (p[0]) {
    case MIP6_OPTION_REFRESH:
        if (len == 2) {
            mh->has_refresh = true;
            mh->refresh = get_be16(p + 2);
        }
        break;
    case MIP6_OPTION_ALTERNATE_COA:
        if (len == 16) {
            mh->has_alternate = true;
            memcpy(&mh->alternate, p + 2, sizeof(mh->alternate));
        }
        break;
    case MIP6_OPTION_NONCE_INDICES:
        if (len == 4) {
            mh->has_nonces = true;
            mh->home_nonce = get_be16(p + 2);
            mh->care_of_nonce = get_be16(p + 4);
        }
        break;
    case MIP6_OPTION_AUTHORIZATION:
        if (len <= MIP6_AUTHENTICATOR_MAX) {
            mh->has_authenticator = true;
            mh->authenticator_len = len;
            memset(mh->authenticator, 0, sizeof(mh->authenticator));
            memcpy(mh->authenticator, p + 2, len);
        }
        break;
    }
}

static bool read_options(Mip6Mh *mh, const uint8_t *p, size_t len)
{
    while (len) {
        size_t size = p[0] == MIP6_OPTION_PAD1 ? 1 : len < 2 ? 0 : p[1] + 2u;

        if (size == 0 || size > len) {
            return false;
        }
        if (size > 1) {
            read_option(mh, p);
        }
        p += size;
        len -= size;
    }
    return true;
}

static bool sum_is_right(const struct in6_addr *src,
                         const struct in6_addr *dst, const uint8_t *p,
                         size_t len)
{
    uint32_t sum = packet_sum_pseudo6(src, dst, PACKET_PROTO_MH, len);

    return packet_sum_fold(packet_sum_add(sum, p, len)) == 0;
}

Mip6MhVerdict mip6_mh_parse(Mip6Mh *mh, const struct in6_addr *src,
                            const struct in6_addr *dst, const void *buf,
                            size_t len)
{
    const uint8_t *p = buf;
    size_t size = len < 8 ? 8 : (p[1] + 1u) * 8;

    memset(mh, 0, sizeof(*mh));
    if (size > len) {
        return MIP6_MH_SHORT;
    }
    mh->type = p[2];
    /* Check the checksum first (section 9.2): a wrong one gets no answer. */
    if (!sum_is_right(src, dst, p, size)) {
        return MIP6_MH_CHECKSUM;
    }
    if (!is_known(mh->type)) {
        return MIP6_MH_UNKNOWN;
    }
    if (p[0] != PACKET_PROTO_NONE) {
        return MIP6_MH_PAYLOAD_PROTO;
    }
    if (size < fixed_len[mh->type]) {
        return MIP6_MH_SHORT;
    }
    read_fixed(mh, p);
    return read_options(mh, p + fixed_len[mh->type],
                        size - fixed_len[mh->type])
           ? MIP6_MH_GOOD : MIP6_MH_OPTION;
}

/* --- building ------------------------------------------------------------- */

static void put_fixed(uint8_t *p, const Mip6Mh *mh)
{
    memset(p, 0, fixed_len[mh->type]);
    p[0] = PACKET_PROTO_NONE;
    p[2] = mh->type;
    switch (mh->type) {
    case MIP6_MH_HOTI:
    case MIP6_MH_COTI:
        put_be64(p + 8, mh->cookie);
        break;
    case MIP6_MH_HOT:
    case MIP6_MH_COT:
        put_be16(p + 6, mh->nonce_index);
        put_be64(p + 8, mh->cookie);
        put_be64(p + 16, mh->token);
        break;
    case MIP6_MH_BU:
        put_be16(p + 6, mh->sequence);
        put_be16(p + 8, mh->flags);
        put_be16(p + 10, mh->lifetime);
        break;
    case MIP6_MH_BA:
        p[6] = mh->status;
        p[7] = mh->flags;
        put_be16(p + 8, mh->sequence);
        put_be16(p + 10, mh->lifetime);
        break;
    case MIP6_MH_BE:
        p[6] = mh->status;
        memcpy(p + 8, &mh->home, sizeof(mh->home));
        break;
    }
}

/*
 * Pads until (@at - @remainder) is a multiple of @unit. Returns: new position
 */
static size_t pad(uint8_t *p, size_t at, unsigned unit, unsigned remainder)
{
    size_t num = (remainder + unit - at % unit) % unit;

    if (num == 1) {
        p[at] = MIP6_OPTION_PAD1;
    } else if (num) {
        memset(p + at, 0, num);
        p[at] = MIP6_OPTION_PADN;
        p[at + 1] = num - 2;
    }
    return at + num;
}

static size_t put_option(uint8_t *p, size_t at, uint8_t type, const void *data,
                         uint8_t len)
{
    p[at] = type;
    p[at + 1] = len;
    memcpy(p + at + 2, data, len);
    return at + 2 + len;
}

static size_t put_options(uint8_t *p, size_t at, const Mip6Mh *mh)
{
    uint8_t data[4];

    if (mh->has_refresh) {
        put_be16(data, mh->refresh);
        at = put_option(p, pad(p, at, 2, 0), MIP6_OPTION_REFRESH, data, 2);
    }
    if (mh->has_alternate) {
        at = put_option(p, pad(p, at, 8, 6), MIP6_OPTION_ALTERNATE_COA,
                        &mh->alternate, sizeof(mh->alternate));
    }
    if (mh->has_nonces) {
        put_be16(data, mh->home_nonce);
        put_be16(data + 2, mh->care_of_nonce);
        at = put_option(p, pad(p, at, 2, 0), MIP6_OPTION_NONCE_INDICES, data,
                        4);
    }
    if (mh->has_authenticator) {
        at = put_option(p, pad(p, at, 8, 2), MIP6_OPTION_AUTHORIZATION,
                        mh->authenticator, mh->authenticator_len);
    }
    return pad(p, at, 8, 0);
}

/* Returns: fixed part, options with padding, and final padding */
static size_t len_max(const Mip6Mh *mh)
{
    return fixed_len[mh->type] + (mh->has_refresh ? 5 : 0) +
           (mh->has_alternate ? 25 : 0) + (mh->has_nonces ? 7 : 0) +
           (mh->has_authenticator ? 9 + mh->authenticator_len : 0) + 7;
}

size_t mip6_mh_build(void *buf, size_t room, const struct in6_addr *src,
                     const struct in6_addr *dst, const Mip6Mh *mh)
{
    uint8_t *p = buf;
    uint32_t sum;
    size_t len;

    if (!is_known(mh->type) ||
        mh->authenticator_len > MIP6_AUTHENTICATOR_MAX || len_max(mh) > room) {
        return 0;
    }
    put_fixed(p, mh);
    len = put_options(p, fixed_len[mh->type], mh);
    p[1] = len / 8 - 1;
    sum = packet_sum_pseudo6(src, dst, PACKET_PROTO_MH, len);
    sum = packet_sum_add(sum, p, len);
    put_be16(p + CHECKSUM_AT, packet_sum_fold(sum));
    return len;
}

/* --- accompanying headers ------------------------------------------------- */

size_t mip6_hao_build(void *buf, uint8_t next, const struct in6_addr *home)
{
    uint8_t *p = buf;

    p[0] = next;
    p[1] = MIP6_HAO_LEN / 8 - 1;
    p[2] = MIP6_OPTION_PADN;    /* aligns the option to 8n + 6 */
    p[3] = 2;
    p[4] = p[5] = 0;
    p[6] = MIP6_OPTION_HAO;
    p[7] = sizeof(*home);
    memcpy(p + 8, home, sizeof(*home));
    return MIP6_HAO_LEN;
}

bool mip6_hao_parse(struct in6_addr *home, const void *header, size_t len)
{
    PacketIp6Option option;
    unsigned found = 0;
    size_t pos = 0;

    while (packet_ip6_option_next(header, len, &pos, &option)) {
        if (option.type == MIP6_OPTION_HAO) {
            if (option.len != sizeof(*home)) {
                return false;
            }
            memcpy(home, option.data, sizeof(*home));
            found++;
        }
    }
    return found == 1 && pos == len;
}

size_t mip6_rh2_build(void *buf, uint8_t next, const struct in6_addr *home)
{
    uint8_t *p = buf;

    memset(p, 0, 8);
    p[0] = next;
    p[1] = MIP6_RH2_LEN / 8 - 1;
    p[2] = MIP6_RH_TYPE;
    p[3] = 1;                   /* segments left */
    memcpy(p + 8, home, sizeof(*home));
    return MIP6_RH2_LEN;
}

bool mip6_rh2_parse(struct in6_addr *home, const void *header, size_t len)
{
    const uint8_t *p = header;

    if (len != MIP6_RH2_LEN || p[1] != MIP6_RH2_LEN / 8 - 1 ||
        p[2] != MIP6_RH_TYPE || p[3] != 1) {
        return false;
    }
    memcpy(home, p + 8, sizeof(*home));
    return true;
}
