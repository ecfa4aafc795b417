/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two sides of a home address in ESP: see mip6-sides.h */
#include <glib.h>
#include <string.h>

#include "mip6-sides.h"

Mip6Protect *sides_new(bool is_agent, uint32_t window, uint32_t epoch)
{
    static uint8_t key[MIP6_PROTECT_SAS][ESP_KEY_MAX];
    Mip6ProtectConfig config = { .window = window, .epoch = epoch };
    Mip6ProtectFault fault;
    Mip6Protect *made;

    for (unsigned i = 0; i < MIP6_PROTECT_SAS; i++) {
        unsigned pair = is_agent ? i ^ 1 : i;

        memset(key[pair], pair + 1, ESP_KEY_MAX);
        config.sa[i] = (Mip6ProtectSaConfig) {
            esp_algorithm_at(0), 0x1001 + pair, key[pair],
            esp_algorithm_key_len(esp_algorithm_at(0)),
        };
    }
    made = mip6_protect_new(&config, &fault);
    g_assert_nonnull(made);
    return made;
}
