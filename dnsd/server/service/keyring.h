/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The TSIG keys of a configuration, with a reference count */
#ifndef DNSD_SERVER_SERVICE_KEYRING_H
#define DNSD_SERVER_SERVICE_KEYRING_H

#include "dnsd/server/config/config.h"
#include "dnsd/update/tsig/keys.h"

typedef struct DnsdKeyring {
    TsigKeys *keys;
    unsigned users;
} DnsdKeyring;

/**
 * dnsd_keyring_new: read the files of all keys
 *
 * Returns: NULL, and @error has the key, its file, and what would be right,
 * but no contents of the file.
 */
DnsdKeyring *dnsd_keyring_new(const DnsdConfig *config, char *error,
                              size_t error_len);

DnsdKeyring *dnsd_keyring_ref(DnsdKeyring *ring);

/** dnsd_keyring_unref: the last one wipes the secrets; NULL is allowed */
void dnsd_keyring_unref(DnsdKeyring *ring);

#endif /* DNSD_SERVER_SERVICE_KEYRING_H */
