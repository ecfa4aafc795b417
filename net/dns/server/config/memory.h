/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a configuration: many pieces that go together */
#ifndef NET_DNS_SERVER_CONFIG_MEMORY_H
#define NET_DNS_SERVER_CONFIG_MEMORY_H

#include <stddef.h>

typedef struct DnsdMemory DnsdMemory;

/**
 * dnsd_memory_get: @len octets of zeros, freed with the others
 * @memory: NULL at first
 *
 * Ends the process if there is none: a configuration is small.
 */
void *dnsd_memory_get(DnsdMemory **memory, size_t len);

/** dnsd_memory_text: a copy of a string. */
char *dnsd_memory_text(DnsdMemory **memory, const char *text);

void dnsd_memory_free(DnsdMemory *memory);

#endif /* NET_DNS_SERVER_CONFIG_MEMORY_H */
