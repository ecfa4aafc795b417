/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a configuration: many allocations that are freed together */
#ifndef DNSD_SERVER_CONFIG_MEMORY_H
#define DNSD_SERVER_CONFIG_MEMORY_H

#include <stddef.h>

typedef struct DnsdMemory DnsdMemory;

/**
 * dnsd_memory_get: allocate @len octets of zeros, which are freed with the
 * others
 * @memory: NULL at first
 *
 * Exits the process if there is no memory, as a configuration is small.
 */
void *dnsd_memory_get(DnsdMemory **memory, size_t len);

/** dnsd_memory_text: copy a string */
char *dnsd_memory_text(DnsdMemory **memory, const char *text);

void dnsd_memory_free(DnsdMemory *memory);

#endif /* DNSD_SERVER_CONFIG_MEMORY_H */
