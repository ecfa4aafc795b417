/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lines "esp" of vmmnet-ha's configuration
 *
 *     esp  2001:db8:2000::10 signal-in  0x1001 aes-gcm-128 /etc/vmmnet/a.key
 *     esp  2001:db8:2000::10 signal-out 0x1002 aes-gcm-128 /etc/vmmnet/b.key
 *     esp  2001:db8:2000::10 tunnel-in  0x1003 aes-gcm-128 /etc/vmmnet/c.key
 *     esp  2001:db8:2000::10 tunnel-out 0x1004 aes-gcm-128 /etc/vmmnet/d.key
 */
#ifndef HA_CONFIG_ESP_H
#define HA_CONFIG_ESP_H

#include "ha/parts/keyring.h"

typedef struct Mip6HaEsp Mip6HaEsp;

Mip6HaEsp *mip6_ha_esp_new(void);
void mip6_ha_esp_free(Mip6HaEsp *esp);

/**
 * mip6_ha_esp_line: parse a line
 * @value: the line after "esp"
 * @line: its number
 *
 * Returns: NULL; or an error text, to be freed with g_free()
 */
char *mip6_ha_esp_line(Mip6HaEsp *esp, const char *value, unsigned line);

/** mip6_ha_esp_homes: their home addresses, each with its first line's number */
GHashTable *mip6_ha_esp_homes(const Mip6HaEsp *esp);

/**
 * mip6_ha_esp_finish: create the associations of all lines
 * @window, @epoch: see Mip6ProtectConfig
 * @line: set to the line with the error
 *
 * Returns: NULL if there are no lines, or with @error set, to be freed with
 * g_free()
 */
Mip6Keyring *mip6_ha_esp_finish(Mip6HaEsp *esp, uint32_t window, uint32_t epoch,
                                unsigned *line, char **error);

#endif /* HA_CONFIG_ESP_H */
