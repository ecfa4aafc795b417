/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: zones */
#ifndef NET_DNS_SERVER_CONFIG_ZONES_H
#define NET_DNS_SERVER_CONFIG_ZONES_H

#include "net/dns/server/config/reader.h"

/* @to is a DnsdConfig */
DnsdReadFn dnsd_read_zones;

#endif /* NET_DNS_SERVER_CONFIG_ZONES_H */
