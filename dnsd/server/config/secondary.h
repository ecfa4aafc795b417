/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: secondary zones */
#ifndef DNSD_SERVER_CONFIG_SECONDARY_H
#define DNSD_SERVER_CONFIG_SECONDARY_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is a DnsdZoneConfig */
ConfigReadFn dnsd_read_primaries, dnsd_read_notifiers;

/**
 * dnsd_read_secondary_end: checks that need the whole zone
 * @node: the map of the zone
 */
void dnsd_read_secondary_end(ConfigReader *r, const yaml_node_t *node,
                             DnsdZoneConfig *zone);

#endif /* DNSD_SERVER_CONFIG_SECONDARY_H */
