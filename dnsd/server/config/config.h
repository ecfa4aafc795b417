/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of vmmnet-dnsd; docs/dnsd.md has the table of its keys
 *
 * A configuration is read once and does not change afterwards.
 */
#ifndef DNSD_SERVER_CONFIG_CONFIG_H
#define DNSD_SERVER_CONFIG_CONFIG_H

#include "dnsd/server/config/types.h"

/**
 * dnsd_config_read: parse the text of a configuration
 * @path: the name of the file, for messages
 *
 * Returns: NULL, and @errors has as many errors as could be found.
 */
DnsdConfig *dnsd_config_read(const char *path, const char *text, size_t len,
                             DnsdErrors *errors);

/** dnsd_config_ref: one more server state has it; returns @config */
DnsdConfig *dnsd_config_ref(DnsdConfig *config);

/** dnsd_config_free: the last one that has it frees it */
void dnsd_config_free(DnsdConfig *config);

/**
 * dnsd_config_needs_restart: the first key that differs and that a reload
 * cannot change; NULL if there is none
 */
const char *dnsd_config_needs_restart(const DnsdConfig *a,
                                      const DnsdConfig *b);

#endif /* DNSD_SERVER_CONFIG_CONFIG_H */
