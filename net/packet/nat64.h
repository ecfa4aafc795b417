/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 addresses inside IPv6 addresses (RFC 6052)
 *
 * Addresses are in network byte order, as in the structs that hold them.
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
    NAT64_ERROR_LENGTH,         /* not one of RFC 6052's six lengths */
    NAT64_ERROR_BITS,           /* bits that must be zero are not */
} Nat64Error;

/*
 * A translation prefix. Build it with nat64_prefix_init() or
 * nat64_prefix_parse(), so that what is in it is valid.
 */
typedef struct Nat64Prefix {
    struct in6_addr addr;
    uint8_t len;                /* 32, 40, 48, 56, 64 or 96 bits */
} Nat64Prefix;

/**
 * nat64_prefix_init: a prefix from its parts, as router advertisements
 * (RFC 8781) and address synthesis (RFC 7050) give them
 * @errp: may be NULL
 *
 * Bits 64 to 71 of a 96-bit prefix should be zero (RFC 6052 section 2.2), but
 * are taken as they are: networks that put something there do work.
 *
 * Returns: false if @len is none of that section, or a bit after the prefix is
 * set.
 */
bool nat64_prefix_init(Nat64Prefix *prefix, const struct in6_addr *addr,
                       unsigned len, GError **errp);

/**
 * nat64_prefix_parse: a prefix from its text, "64:ff9b::/96"
 *
 * Returns: false on bad syntax and where nat64_prefix_init() does.
 */
bool nat64_prefix_parse(const char *text, Nat64Prefix *prefix,
                        GError **errp);

/** nat64_prefix_equal: are they the same? */
bool nat64_prefix_equal(const Nat64Prefix *a, const Nat64Prefix *b);

/**
 * nat64_embed: the IPv6 address that stands for @addr4 (RFC 6052, 2.3)
 */
void nat64_embed(const Nat64Prefix *prefix, struct in_addr addr4,
                 struct in6_addr *addr6);

/**
 * nat64_extract: the IPv4 address that @addr6 stands for (RFC 6052, 2.3)
 *
 * The suffix is ignored, as section 2.2 asks, and so are bits 64 to 71 behind
 * the prefix: a translator removes them as section 2.3 has it, whatever they
 * are, and who judges where a packet goes must not know less than it does.
 * That @addr6 is what nat64_embed() makes is for the caller to ask.
 *
 * Returns: false, and @addr4 untouched, if @addr6 is not of this prefix.
 */
bool nat64_extract(const Nat64Prefix *prefix, const struct in6_addr *addr6,
                   struct in_addr *addr4);

#endif /* NET_PACKET_NAT64_H */
