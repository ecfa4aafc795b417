/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and addresses in the formats of Open vSwitch */
#include <arpa/inet.h>
#include <inttypes.h>

#include "hw/net/cvsw/openflow/text.h"
#include "net/packet/eth.h"

uint64_t cvsw_of_text_number(CvswField field, const CvswValue *value)
{
    size_t octets = cvsw_field_octets(field);
    uint64_t number = 0;

    for (size_t i = 0; i < octets; i++) {
        number = number << 8 | value->octets[i];
    }
    return number;
}

void cvsw_of_text_mac(GString *out, const uint8_t *mac)
{
    g_string_append_printf(out, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0],
                           mac[1], mac[2], mac[3], mac[4], mac[5]);
}

void cvsw_of_text_ip(GString *out, bool is_ip6, const uint8_t *addr)
{
    char text[INET6_ADDRSTRLEN];

    g_string_append(out, inet_ntop(is_ip6 ? AF_INET6 : AF_INET, addr, text,
                                   sizeof(text)));
}

/* Returns: the prefix length; -1 if @mask is not a prefix */
static int prefix_of(const uint8_t *mask, int bits)
{
    int len = 0;

    while (len < bits && mask[len / 8] >> (7 - len % 8) & 1) {
        len++;
    }
    for (int i = len; i < bits; i++) {
        if (mask[i / 8] >> (7 - i % 8) & 1) {
            return -1;
        }
    }
    return len;
}

static void text_ip(GString *out, bool is_ip6, const CvswValue *value,
                    const CvswValue *mask)
{
    int bits = is_ip6 ? 128 : 32;
    int prefix = mask ? prefix_of(mask->octets, bits) : bits;

    cvsw_of_text_ip(out, is_ip6, value->octets);
    if (prefix < 0) {
        g_string_append_c(out, '/');
        cvsw_of_text_ip(out, is_ip6, mask->octets);
    } else if (prefix < bits) {
        g_string_append_printf(out, "/%d", prefix);
    }
}

static void text_mac(GString *out, const CvswValue *value,
                     const CvswValue *mask)
{
    cvsw_of_text_mac(out, value->octets);
    if (mask && prefix_of(mask->octets, 48) < 48) {
        g_string_append_c(out, '/');
        cvsw_of_text_mac(out, mask->octets);
    }
}

/* @digits: minimum number of digits */
static void text_hex(GString *out, CvswField field, const CvswValue *value,
                     const CvswValue *mask, int digits)
{
    unsigned bits = cvsw_field_bits(field);

    g_string_append_printf(out, "0x%0*" PRIx64, digits,
                           cvsw_of_text_number(field, value));
    if (mask && cvsw_of_text_number(field, mask) !=
        UINT64_MAX >> (64 - bits)) {
        g_string_append_printf(out, "/0x%0*" PRIx64, digits,
                               cvsw_of_text_number(field, mask));
    }
}

void cvsw_of_text(GString *out, CvswField field, const CvswValue *value,
                  const CvswValue *mask)
{
    switch (field) {
    case CVSW_ETH_DST:
    case CVSW_ETH_SRC:
    case CVSW_ARP_SHA:
    case CVSW_ARP_THA:
    case CVSW_IPV6_ND_SLL:
    case CVSW_IPV6_ND_TLL:
        text_mac(out, value, mask);
        break;
    case CVSW_IPV4_SRC:
    case CVSW_IPV4_DST:
    case CVSW_ARP_SPA:
    case CVSW_ARP_TPA:
        text_ip(out, false, value, mask);
        break;
    case CVSW_IPV6_SRC:
    case CVSW_IPV6_DST:
    case CVSW_IPV6_ND_TARGET:
        text_ip(out, true, value, mask);
        break;
    case CVSW_ETH_TYPE:
        text_hex(out, field, value, mask, 4);
        break;
    case CVSW_IPV6_FLABEL:
        /* A match prints five digits, SET_FIELD only as many as needed. */
        text_hex(out, field, value, mask, mask ? 5 : 1);
        break;
    case CVSW_TUNNEL_ID:
    case CVSW_IPV6_EXTHDR:
        text_hex(out, field, value, mask, 1);
        break;
    default:
        g_string_append_printf(out, "%" PRIu64,
                               cvsw_of_text_number(field, value));
    }
}
