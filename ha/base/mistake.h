/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error messages about a file, with the line */
#ifndef HA_MISTAKE_H
#define HA_MISTAKE_H

#include <glib.h>
#include <stdbool.h>

/**
 * mip6_ha_mistake: set @errp
 * @file: NULL: without a place
 * @line: line number; 0: about the whole file
 *
 * Returns: false
 */
bool mip6_ha_mistake(GError **errp, const char *file, unsigned line,
                     const char *format, ...) G_GNUC_PRINTF(4, 5);

#endif /* HA_MISTAKE_H */
