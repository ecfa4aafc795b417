/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: source addresses */
#ifndef DNSD_SERVER_CONFIG_SOURCES_H
#define DNSD_SERVER_CONFIG_SOURCES_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is a DnsdSources */
ConfigReadFn dnsd_read_sources;

/**
 * dnsd_read_sources_end: checks that need the whole zone
 * @node: the map of the zone
 */
void dnsd_read_sources_end(ConfigReader *r, const yaml_node_t *node,
                           const DnsdZoneConfig *zone);

#endif /* DNSD_SERVER_CONFIG_SOURCES_H */
