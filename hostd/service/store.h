/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file */
#ifndef HOSTD_STORE_H
#define HOSTD_STORE_H

#include "hostd/core/registry.h"

/**
 * hostd_store_load: load the file into @r, which is empty
 *
 * A missing file is no error. A damaged file is copied to a file with the
 * suffix ".damaged", and the damage is reported in warnings.
 *
 * Returns: false with @errp if it cannot be read, or is not a state file
 */
bool hostd_store_load(const char *path, HostdRegistry *r, GError **errp);

/**
 * hostd_store_save: replace the file atomically
 *
 * The file is not synced: it is only needed until the next boot.
 */
bool hostd_store_save(const char *path, const HostdRegistry *r, GError **errp);

#endif /* HOSTD_STORE_H */
