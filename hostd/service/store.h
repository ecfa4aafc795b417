/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state file */
#ifndef HOSTD_STORE_H
#define HOSTD_STORE_H

#include "hostd/core/registry.h"

/**
 * hostd_store_load: put what the file has into @r, which is empty
 *
 * There need not be a file. One that is damaged is copied beside it, with
 * ".damaged" behind its name, and what is wrong with it is told by warnings.
 *
 * Returns: false with @errp if it cannot be read, or is of another kind
 */
bool hostd_store_load(const char *path, HostdRegistry *r, GError **errp);

/**
 * hostd_store_save: write a new file in the place of the old one, at once
 *
 * The disk is not waited for: the file is for the time until the next boot.
 */
bool hostd_store_save(const char *path, const HostdRegistry *r, GError **errp);

#endif /* HOSTD_STORE_H */
