/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 addresses inside IPv6 addresses (RFC 6052)
 *
 * Addresses are in network byte order.
 */
#ifndef NET_PACKET_NAT64_H
#define NET_PACKET_NAT64_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <glib.h>

#define NAT64_ERROR nat64_error_quark()
GQuark nat64_error_quark(void);

typedef enum Nat64Error {
    NAT64_ERROR_SYNTAX,         /* not ADDR/LEN */
    NAT64_ERROR_LENGTH,         /* not a length of RFC 6052 */
    NAT64_ERROR_BITS,           /* bits that must be zero are not */
} Nat64Error;

/*
 * A translation prefix. nat64_prefix_init() and nat64_prefix_parse() make only
 * valid ones.
 */
typedef struct Nat64Prefix {
    struct in6_addr addr;
    uint8_t len;                /* 32, 40, 48, 56, 64 or 96 bits */
} Nat64Prefix;

/**
 * nat64_prefix_init: make a prefix from its parts, for example those in router
 * advertisements (RFC 8781) or from address synthesis (RFC 7050)
 * @errp: may be NULL
 *
 * Bits 64 to 71 of a 96-bit prefix should be zero (RFC 6052 section 2.2), but
 * other values are accepted: networks that use them do work.
 *
 * Returns: false if @len is not a length of that section, or a bit after the
 * prefix is set.
 */
bool nat64_prefix_init(Nat64Prefix *prefix, const struct in6_addr *addr,
                       unsigned len, GError **errp);

/**
 * nat64_prefix_parse: make a prefix from text such as "64:ff9b::/96"
 *
 * Returns: false for bad syntax, and in the cases of nat64_prefix_init().
 */
bool nat64_prefix_parse(const char *text, Nat64Prefix *prefix,
                        GError **errp);

/** nat64_prefix_equal: are both equal? */
bool nat64_prefix_equal(const Nat64Prefix *a, const Nat64Prefix *b);

/** nat64_embed: the IPv6 address for @addr4 (RFC 6052, 2.3) */
void nat64_embed(const Nat64Prefix *prefix, struct in_addr addr4,
                 struct in6_addr *addr6);

/**
 * nat64_extract: the IPv4 address in @addr6 (RFC 6052, 2.3)
 *
 * The suffix is ignored, as section 2.2 requires, and so are bits 64 to 71
 * after the prefix: a translator skips them whatever they are (section 2.3),
 * and a policy check of the destination must see the same IPv4 address as the
 * translator. A caller that needs exactly the result of nat64_embed() must
 * compare.
 *
 * Returns: false, with @addr4 unchanged, if @addr6 does not have this prefix.
 */
bool nat64_extract(const Nat64Prefix *prefix, const struct in6_addr *addr6,
                   struct in_addr *addr4);

#endif /* NET_PACKET_NAT64_H */
