/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration from its file */
#ifndef NET_DNS_SERVER_SERVICE_LOAD_H
#define NET_DNS_SERVER_SERVICE_LOAD_H

#include <sys/types.h>

#include "net/dns/server/config/config.h"

#define DNSD_CONFIG_MAX     (64u << 20)     /* octets of a file */

/** dnsd_load_small: the first octets of a file; -1, and errno. */
ssize_t dnsd_load_small(const char *path, char *to, size_t room);

/** dnsd_load: NULL, and @mistakes says what is wrong. */
DnsdConfig *dnsd_load(const char *path, DnsdMistakes *mistakes);

#endif /* NET_DNS_SERVER_SERVICE_LOAD_H */
