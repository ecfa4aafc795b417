/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readers of values: zones */
#ifndef DNSD_SERVER_CONFIG_ZONES_H
#define DNSD_SERVER_CONFIG_ZONES_H

#include "dnsd/server/config/reader.h"

/* @to is a DnsdConfig */
DnsdReadFn dnsd_read_zones;

#endif /* DNSD_SERVER_CONFIG_ZONES_H */
