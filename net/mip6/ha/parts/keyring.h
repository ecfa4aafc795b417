/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The home addresses that are protected by ESP, and their associations */
#ifndef NET_MIP6_HA_KEYRING_H
#define NET_MIP6_HA_KEYRING_H

#include <glib.h>

#include "net/mip6/protect.h"

typedef struct Mip6Keys {
    struct in6_addr home;
    Mip6Protect *protect;
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

/** mip6_keyring_by_spi: whose packets come with @spi; NULL: nobody's */
Mip6Keys *mip6_keyring_by_spi(const Mip6Keyring *ring, uint32_t spi);

#endif /* NET_MIP6_HA_KEYRING_H */
