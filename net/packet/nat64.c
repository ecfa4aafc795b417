/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 addresses inside IPv6 addresses (RFC 6052)
 *
 * Theory of operation
 *
 * A network with NAT64 maps every IPv4 address to an IPv6 address: prefix, the
 * four bytes, zeros. The prefix has one of six lengths. The four bytes leave
 * out byte 8 of the address (bits 64 to 71, "u"), which is zero, so that the
 * address has a valid 64-bit interface identifier. With a /96 this byte is part
 * of the network's prefix:
 *
 *     /32  PPPPPPPP 44444444 u 000000 ...
 *     /40  PPPPPPPPPP 444444 u 44 ...
 *     /48  PPPPPPPPPPPP 4444 u 4444 ...
 *     /56  PPPPPPPPPPPPPP 44 u 444444 ...
 *     /64  PPPPPPPPPPPPPPPP  u 44444444 ...
 *     /96  PPPPPPPPPPPPPPPP PPPPPPPP 44444444
 */
#include <arpa/inet.h>
#include <string.h>

#include "net/packet/nat64.h"

/* Byte of the address that holds bits 64 to 71. */
#define U_OCTET 8

GQuark nat64_error_quark(void)
{
    return g_quark_from_static_string("nat64-error");
}

/* Position of byte @i of the IPv4 address. */
static unsigned place_of(const Nat64Prefix *prefix, unsigned i)
{
    unsigned place = prefix->len / 8 + i;

    return prefix->len < 96 && place >= U_OCTET ? place + 1 : place;
}

static bool length_is_valid(unsigned len)
{
    return len == 32 || len == 40 || len == 48 || len == 56 || len == 64 ||
           len == 96;
}

bool nat64_prefix_init(Nat64Prefix *prefix, const struct in6_addr *addr,
                       unsigned len, GError **errp)
{
    char text[INET6_ADDRSTRLEN];
    unsigned i;

    inet_ntop(AF_INET6, addr, text, sizeof(text));
    if (!length_is_valid(len)) {
        g_set_error(errp, NAT64_ERROR, NAT64_ERROR_LENGTH,
                    "%s/%u: the length of a NAT64 prefix is 32, 40, 48, 56, "
                    "64 or 96", text, len);
        return false;
    }
    for (i = len / 8; i < sizeof(*addr); i++) {
        if (addr->s6_addr[i]) {
            g_set_error(errp, NAT64_ERROR, NAT64_ERROR_BITS,
                        "%s/%u has bits set after its prefix", text, len);
            return false;
        }
    }
    prefix->addr = *addr;
    prefix->len = len;
    return true;
}

bool nat64_prefix_parse(const char *text, Nat64Prefix *prefix, GError **errp)
{
    const char *slash = strchr(text, '/');
    char buf[INET6_ADDRSTRLEN];
    struct in6_addr addr;
    guint64 len;

    if (!slash || slash - text >= (ptrdiff_t)sizeof(buf)) {
        goto syntax;
    }
    memcpy(buf, text, slash - text);
    buf[slash - text] = '\0';
    if (inet_pton(AF_INET6, buf, &addr) != 1 ||
        !g_ascii_string_to_unsigned(slash + 1, 10, 0, 128, &len, NULL)) {
        goto syntax;
    }
    return nat64_prefix_init(prefix, &addr, len, errp);

syntax:
    g_set_error(errp, NAT64_ERROR, NAT64_ERROR_SYNTAX,
                "'%s' is not a NAT64 prefix such as 64:ff9b::/96", text);
    return false;
}

bool nat64_prefix_equal(const Nat64Prefix *a, const Nat64Prefix *b)
{
    return a->len == b->len && IN6_ARE_ADDR_EQUAL(&a->addr, &b->addr);
}

void nat64_embed(const Nat64Prefix *prefix, struct in_addr addr4,
                 struct in6_addr *addr6)
{
    const uint8_t *bytes = (const uint8_t *)&addr4;
    unsigned i;

    *addr6 = prefix->addr;
    for (i = 0; i < sizeof(addr4); i++) {
        addr6->s6_addr[place_of(prefix, i)] = bytes[i];
    }
}

bool nat64_extract(const Nat64Prefix *prefix, const struct in6_addr *addr6,
                   struct in_addr *addr4)
{
    uint8_t *bytes = (uint8_t *)addr4;
    unsigned i;

    if (memcmp(addr6, &prefix->addr, prefix->len / 8)) {
        return false;
    }
    for (i = 0; i < sizeof(*addr4); i++) {
        bytes[i] = addr6->s6_addr[place_of(prefix, i)];
    }
    return true;
}
