/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: TSIG keys, and settings of zones that change */
#ifndef DNSD_SERVER_CONFIG_CHANGING_H
#define DNSD_SERVER_CONFIG_CHANGING_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is a DnsdConfig */
ConfigReadFn dnsd_read_keys;

/* @to is a DnsdZoneConfig */
ConfigReadFn dnsd_read_updates, dnsd_read_transfer, dnsd_read_notify;

/* @to is a DnsName, for a name in "keys"; or a DnsdAsker, also for a prefix */
ConfigReadFn dnsd_read_key_name, dnsd_read_asker;

/**
 * dnsd_read_changing_end: checks that need the whole zone
 * @node: the map of the zone
 */
void dnsd_read_changing_end(ConfigReader *r, const yaml_node_t *node,
                            DnsdZoneConfig *zone);

#endif /* DNSD_SERVER_CONFIG_CHANGING_H */
