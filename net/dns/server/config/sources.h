/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: source addresses */
#ifndef NET_DNS_SERVER_CONFIG_SOURCES_H
#define NET_DNS_SERVER_CONFIG_SOURCES_H

#include "net/dns/server/config/reader.h"

/* @to is a DnsdSources */
DnsdReadFn dnsd_read_sources;

/**
 * dnsd_read_sources_end: checks that need the whole zone
 * @node: the map of the zone
 */
void dnsd_read_sources_end(DnsdReader *r, const yaml_node_t *node,
                           const DnsdZoneConfig *zone);

#endif /* NET_DNS_SERVER_CONFIG_SOURCES_H */
