/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: zones */
#ifndef DNSD_SERVER_CONFIG_ZONES_H
#define DNSD_SERVER_CONFIG_ZONES_H

#include "base/config.h"
#include "dnsd/server/config/types.h"

/* @to is a DnsdConfig */
ConfigReadFn dnsd_read_zones;

#endif /* DNSD_SERVER_CONFIG_ZONES_H */
