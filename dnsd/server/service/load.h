/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read a configuration from its file */
#ifndef DNSD_SERVER_SERVICE_LOAD_H
#define DNSD_SERVER_SERVICE_LOAD_H

#include <sys/types.h>

#include "dnsd/server/config/config.h"

#define DNSD_CONFIG_MAX     (64u << 20)     /* limit of a file, octets */

/** dnsd_load_small: read the first octets of a file; -1, and errno is set */
ssize_t dnsd_load_small(const char *path, char *to, size_t room);

/** dnsd_load: NULL, and @errors says what is wrong */
DnsdConfig *dnsd_load(const char *path, DnsdErrors *errors);

#endif /* DNSD_SERVER_SERVICE_LOAD_H */
