/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 addresses as keys of a GHashTable */
#ifndef HA_ADDR_H
#define HA_ADDR_H

#include <glib.h>

/** mip6_addr_hash, mip6_addr_equal: for struct in6_addr */
guint mip6_addr_hash(gconstpointer addr);
gboolean mip6_addr_equal(gconstpointer a, gconstpointer b);

#endif /* HA_ADDR_H */
