/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file of vmmnet-ha */
#ifndef HA_CONFIG_H
#define HA_CONFIG_H

#include "ha/agent/agent.h"

/* Does the kernel forward simple packets by itself (host/fast.h)? */
typedef enum Mip6HaFastPath {
    MIP6_HA_FAST_AUTO,          /* if the kernel supports it */
    MIP6_HA_FAST_ON,
    MIP6_HA_FAST_OFF,
} Mip6HaFastPath;

typedef struct Mip6HaConfig {
    char *interface;            /* interface of the home link */
    char *tun;                  /* name of the TUN device */
    char *state;                /* file for bindings; NULL: none */
    char *control;              /* UNIX socket; NULL: the default */
    Mip6HaFastPath fast_path;
    GHashTable *lines;          /* word -> number of its line */
    uint32_t epoch;             /* of keys for ESP */
    char *old;                  /* to be told: it has the old form; or NULL */
    Mip6AgentConfig agent;
} Mip6HaConfig;

/**
 * mip6_ha_config_parse: parse a configuration
 * @text: YAML; or the old form: one statement on each line
 * @file: its name, for messages
 * @used: ESP numbers and epochs of earlier agents: the keys begin above them, and
 *        not before the present time
 *
 * Returns: NULL with @errp set, which names file and line
 */
Mip6HaConfig *mip6_ha_config_parse(const char *text, const char *file,
                                   uint32_t used, GError **errp);

/**
 * mip6_ha_config_read: read and parse a file
 * @used: see mip6_ha_config_parse()
 *
 * Returns: NULL with @errp set
 */
Mip6HaConfig *mip6_ha_config_read(const char *file, uint32_t used,
                                  GError **errp);

/**
 * mip6_ha_config_fixed: compare the statements that need a restart
 *
 * Returns: the first one in which @a and @b differ; NULL: none
 */
const char *mip6_ha_config_fixed(const Mip6HaConfig *a, const Mip6HaConfig *b);

/** mip6_ha_config_line: number of the line that has @word; 0: none has it */
unsigned mip6_ha_config_line(const Mip6HaConfig *config, const char *word);

void mip6_ha_config_free(Mip6HaConfig *config);

#endif /* HA_CONFIG_H */
