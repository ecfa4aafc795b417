/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of a configuration */
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/config/memory.h"

struct DnsdMemory {
    DnsdMemory *next;
    max_align_t piece[];
};

void *dnsd_memory_get(DnsdMemory **memory, size_t len)
{
    DnsdMemory *piece = calloc(1, sizeof(*piece) + len);

    if (!piece) {
        abort();
    }
    piece->next = *memory;
    *memory = piece;
    return piece->piece;
}

char *dnsd_memory_text(DnsdMemory **memory, const char *text)
{
    size_t len = strlen(text) + 1;

    return memcpy(dnsd_memory_get(memory, len), text, len);
}

void dnsd_memory_free(DnsdMemory *memory)
{
    while (memory) {
        DnsdMemory *next = memory->next;

        free(memory);
        memory = next;
    }
}
