/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 addresses as keys of a GHashTable, with the hash FNV-1a */
#include <netinet/in.h>
#include <string.h>

#include "ha/base/addr.h"

guint mip6_addr_hash(gconstpointer addr)
{
    const uint8_t *p = addr;
    guint hash = 2166136261u;

    for (unsigned i = 0; i < sizeof(struct in6_addr); i++) {
        hash = (hash ^ p[i]) * 16777619u;
    }
    return hash;
}

gboolean mip6_addr_equal(gconstpointer a, gconstpointer b)
{
    return memcmp(a, b, sizeof(struct in6_addr)) == 0;
}
