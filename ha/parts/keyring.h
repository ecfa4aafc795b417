/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Home addresses with ESP, and their associations */
#ifndef HA_KEYRING_H
#define HA_KEYRING_H

#include <glib.h>

#include "net/mip6/core/protect.h"

typedef struct Mip6Keys {
    struct in6_addr home;
    Mip6Protect *protect;
    bool has_window;            /* for inbound signalling */
    uint64_t kept;              /* highest number in the state file */
    uint32_t epoch;             /* first number of outbound signalling */
    int64_t rate_until;         /* state of the rate limit */
} Mip6Keys;

typedef struct Mip6Keyring Mip6Keyring;

Mip6Keyring *mip6_keyring_new(void);
void mip6_keyring_free(Mip6Keyring *ring);

/**
 * mip6_keyring_add: protect a home address
 * @config: copied
 * @fault: set on failure; another home address must not use the same inbound
 *         SPI or GCM key
 */
bool mip6_keyring_add(Mip6Keyring *ring, const struct in6_addr *home,
                      const Mip6ProtectConfig *config, Mip6ProtectFault *fault);

/** mip6_keyring_of: NULL if @home has no ESP, or @ring is NULL */
Mip6Keys *mip6_keyring_of(const Mip6Keyring *ring, const struct in6_addr *home);

/**
 * mip6_keyring_protect: seal a message to @home, if it has keys
 * @packet: with MIP6_PROTECT_MORE octets of space after its @len
 * @sent: set to a number that is not lower than that of the message; 0: without
 *        ESP
 *
 * Returns: octets at @packet; 0 if it cannot be sealed
 */
size_t mip6_keyring_protect(const Mip6Keyring *ring,
                            const struct in6_addr *home, void *packet,
                            size_t len, uint64_t *sent);

/**
 * mip6_keys_may_signal: is a message of inbound signalling within the rate
 * limit?
 *
 * A mobile node sends at most MAX_UPDATE_RATE a second (RFC 6275 section 12); a
 * burst of MIP6_KEYS_BURST is allowed. The call counts the message.
 */
#define MIP6_KEYS_BURST 16
bool mip6_keys_may_signal(Mip6Keys *keys, int64_t now);

/**
 * mip6_keyring_sent: no outbound signalling has a higher number, and no nonce a
 * higher epoch; 0: there are no keys
 */
uint64_t mip6_keyring_sent(const Mip6Keyring *ring);

/* --- replay windows of inbound signalling --------------------------------- */

/** mip6_keys_seen: highest number accepted; 0: none, or no window */
uint64_t mip6_keys_seen(const Mip6Keys *keys);

/**
 * mip6_keyring_restore: mark all numbers up to @number as seen
 *
 * Returns: false, with nothing changed, if no inbound signalling of @home has
 * @spi, or @number has more than 32 bits
 */
bool mip6_keyring_restore(const Mip6Keyring *ring, const struct in6_addr *home,
                          uint32_t spi, uint64_t number);

/**
 * mip6_keyring_inherit: copy replay windows from @from for associations with
 * the same home address and SPI
 */
void mip6_keyring_inherit(const Mip6Keyring *ring, const Mip6Keyring *from);

/** mip6_keyring_each: call @each for all; @ring may be NULL */
void mip6_keyring_each(const Mip6Keyring *ring,
                       void (*each)(void *opaque, const Mip6Keys *keys),
                       void *opaque);

/** mip6_keyring_by_spi: the keys with inbound @spi; NULL: none */
Mip6Keys *mip6_keyring_by_spi(const Mip6Keyring *ring, uint32_t spi);

#endif /* HA_KEYRING_H */
