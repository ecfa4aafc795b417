/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home addresses that are protected by ESP, and their associations */
#ifndef NET_MIP6_HA_KEYRING_H
#define NET_MIP6_HA_KEYRING_H

#include <glib.h>

#include "net/mip6/core/protect.h"

typedef struct Mip6Keys {
    struct in6_addr home;
    Mip6Protect *protect;
    bool has_window;            /* of inbound signalling */
    uint64_t kept;              /* the highest number that a file has */
    int64_t paid;               /* the time up to which its rate is used up */
} Mip6Keys;

typedef struct Mip6Keyring Mip6Keyring;

Mip6Keyring *mip6_keyring_new(void);
void mip6_keyring_free(Mip6Keyring *ring);

/**
 * mip6_keyring_add: protect a home address
 * @config: copied
 * @fault: says why there are no associations; also if another home address has
 *         an inbound SPI, or a key of GCM, of @config
 */
bool mip6_keyring_add(Mip6Keyring *ring, const struct in6_addr *home,
                      const Mip6ProtectConfig *config, Mip6ProtectFault *fault);

/** mip6_keyring_of: NULL if @home is not protected, or @ring is NULL */
Mip6Keys *mip6_keyring_of(const Mip6Keyring *ring, const struct in6_addr *home);

/**
 * mip6_keyring_protect: put a message to @home into ESP, if it has keys
 * @packet: with MIP6_PROTECT_MORE octets of room behind its @len
 *
 * Returns: octets at @packet; 0 if it cannot be sealed
 */
size_t mip6_keyring_protect(const Mip6Keyring *ring,
                            const struct in6_addr *home, void *packet,
                            size_t len);

/**
 * mip6_keys_may_signal: is a message of inbound signalling within its rate?
 *
 * A mobile node sends at most MAX_UPDATE_RATE a second (RFC 6275 section 12);
 * MIP6_KEYS_BURST at once may come. The message counts.
 */
#define MIP6_KEYS_BURST 16
bool mip6_keys_may_signal(Mip6Keys *keys, int64_t now);

/* --- replay windows of inbound signalling --------------------------------- */

/** mip6_keys_seen: the highest number that was accepted; 0: none, no window */
uint64_t mip6_keys_seen(const Mip6Keys *keys);

/**
 * mip6_keyring_restore: all numbers up to @number count as seen
 *
 * Returns: false, and nothing changes, if no inbound signalling of @home has
 * @spi, or @number has more than its 32 bits
 */
bool mip6_keyring_restore(const Mip6Keyring *ring, const struct in6_addr *home,
                          uint32_t spi, uint64_t number);

/**
 * mip6_keyring_inherit: where home address and SPI are the same in @from, its
 * windows go on
 */
void mip6_keyring_inherit(const Mip6Keyring *ring, const Mip6Keyring *from);

/** mip6_keyring_each: call @each for all of them; NULL has none */
void mip6_keyring_each(const Mip6Keyring *ring,
                       void (*each)(void *opaque, const Mip6Keys *keys),
                       void *opaque);

/** mip6_keyring_by_spi: whose packets come with @spi; NULL: nobody's */
Mip6Keys *mip6_keyring_by_spi(const Mip6Keyring *ring, uint32_t spi);

#endif /* NET_MIP6_HA_KEYRING_H */
