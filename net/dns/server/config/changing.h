/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: keys of TSIG, and what zones that change have */
#ifndef NET_DNS_SERVER_CONFIG_CHANGING_H
#define NET_DNS_SERVER_CONFIG_CHANGING_H

#include "net/dns/server/config/reader.h"

/* To a DnsdConfig */
DnsdReadFn dnsd_read_keys;

/* To a DnsdZoneConfig */
DnsdReadFn dnsd_read_updates, dnsd_read_transfer, dnsd_read_notify;

/* To a DnsName: the name of a key in "keys"; to a DnsdAsker: or a prefix */
DnsdReadFn dnsd_read_key_name, dnsd_read_asker;

/**
 * dnsd_read_changing_end: what can be checked when a zone is read whole
 * @node: the zone's map
 */
void dnsd_read_changing_end(DnsdReader *r, const yaml_node_t *node,
                            DnsdZoneConfig *zone);

#endif /* NET_DNS_SERVER_CONFIG_CHANGING_H */
