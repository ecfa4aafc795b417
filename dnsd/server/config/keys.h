/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values that only the server's configuration has */
#ifndef DNSD_SERVER_CONFIG_KEYS_H
#define DNSD_SERVER_CONFIG_KEYS_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is the member for the key */
ConfigReadFn dnsd_read_listen, dnsd_read_metrics, dnsd_read_octets,
           dnsd_read_ranges, dnsd_read_slots,
           dnsd_read_threads, dnsd_read_name, dnsd_read_address;

/** dnsd_name_lower: convert to lower case */
void dnsd_name_lower(DnsName *name);

#endif /* DNSD_SERVER_CONFIG_KEYS_H */
