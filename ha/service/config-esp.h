/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The items of "esp" in vmmnet-ha's configuration
 *
 *     esp:
 *     - {home: 2001:db8:2000::10, sa: signal-in, spi: 0x1001,
 *        cipher: aes-gcm-128, key-file: /etc/vmmnet/a.key}
 *     - ...signal-out, tunnel-in, tunnel-out
 *
 * In the old form, a line each:
 *
 *     esp 2001:db8:2000::10 signal-in 0x1001 aes-gcm-128 /etc/vmmnet/a.key
 */
#ifndef HA_CONFIG_ESP_H
#define HA_CONFIG_ESP_H

#include "ha/parts/keyring.h"

typedef struct Mip6HaEsp Mip6HaEsp;

Mip6HaEsp *mip6_ha_esp_new(void);
void mip6_ha_esp_free(Mip6HaEsp *esp);

/* The words of an item */
enum {
    MIP6_HA_ESP_HOME,
    MIP6_HA_ESP_SA,
    MIP6_HA_ESP_SPI,
    MIP6_HA_ESP_CIPHER,
    MIP6_HA_ESP_KEY_FILE,
    MIP6_HA_ESP_WORDS
};

/**
 * mip6_ha_esp_add: take an item
 * @line: its number
 *
 * Returns: NULL; or an error text, to be freed with g_free()
 */
char *mip6_ha_esp_add(Mip6HaEsp *esp,
                      const char *const word[MIP6_HA_ESP_WORDS], unsigned line);

/**
 * mip6_ha_esp_line: parse a line of the old form
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
