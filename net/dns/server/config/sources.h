/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: addresses that the server sends from */
#ifndef NET_DNS_SERVER_CONFIG_SOURCES_H
#define NET_DNS_SERVER_CONFIG_SOURCES_H

#include "net/dns/server/config/reader.h"

/* To a DnsdSources */
DnsdReadFn dnsd_read_sources;

/**
 * dnsd_read_sources_end: what can be checked when a zone is read whole
 * @node: the zone's map
 */
void dnsd_read_sources_end(DnsdReader *r, const yaml_node_t *node,
                           const DnsdZoneConfig *zone);

#endif /* NET_DNS_SERVER_CONFIG_SOURCES_H */
