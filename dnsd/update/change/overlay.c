/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changed nodes that are not in an image yet: a skip list */
#include <stdlib.h>

#include "dnsd/update/change/overlay.h"

#define LEVELS_MAX      16
#define SEED            UINT64_C(0x9e3779b97f4a7c15)

struct Overlay {
    uint64_t random;
    size_t count;
    unsigned levels;            /* of the highest entry */
    OverlayEntry *head[LEVELS_MAX];
};

Overlay *overlay_new(void)
{
    Overlay *o = calloc(1, sizeof(*o));

    if (o) {
        o->random = SEED;
    }
    return o;
}

void overlay_clear(Overlay *o)
{
    OverlayEntry *next;

    for (OverlayEntry *entry = o->head[0]; entry; entry = next) {
        next = entry->next[0];
        free(entry->now.node);
        free(entry);
    }
    *o = (Overlay) { .random = o->random };
}

void overlay_free(Overlay *o)
{
    if (o) {
        overlay_clear(o);
        free(o);
    }
}

size_t overlay_count(const Overlay *o)
{
    return o->count;
}

/*
 * For each level, the links of the last entry before @key; the head precedes
 * all entries.
 */
static OverlayEntry *const *before(const Overlay *o, const NameKey *key,
                                   OverlayEntry *const **links)
{
    OverlayEntry *const *at = o->head;

    for (unsigned level = o->levels; level-- > 0;) {
        while (at[level] && name_key_compare(at[level]->key, key) < 0) {
            at = at[level]->next;
        }
        if (links) {
            links[level] = at;
        }
    }
    return at;
}

OverlayEntry *overlay_from(const Overlay *o, const NameKey *key)
{
    return key ? before(o, key, NULL)[0] : o->head[0];
}

OverlayEntry *overlay_find(const Overlay *o, const NameKey *key)
{
    OverlayEntry *entry = overlay_from(o, key);

    return entry && !name_key_compare(entry->key, key) ? entry : NULL;
}

/* One entry in four reaches the next level. */
static unsigned choose_levels(Overlay *o)
{
    unsigned levels = 1;

    o->random ^= o->random << 13;
    o->random ^= o->random >> 7;
    o->random ^= o->random << 17;
    for (uint64_t r = o->random; levels < LEVELS_MAX && r % 4 == 0; r /= 4) {
        levels++;
    }
    return levels;
}

OverlayEntry *overlay_add(Overlay *o, const DnsName *name, const NameKey *key)
{
    OverlayEntry *const *links[LEVELS_MAX];
    unsigned levels = choose_levels(o);
    size_t links_len = levels * sizeof(OverlayEntry *);
    size_t key_len = offsetof(NameKey, octets) + key->len;
    OverlayEntry *entry = calloc(1, sizeof(*entry) + links_len + key_len);

    if (!entry) {
        return NULL;
    }
    o->levels = o->levels < levels ? levels : o->levels;
    before(o, key, links);
    entry->name = *name;
    entry->key = memcpy(&entry->next[levels], key, key_len);
    entry->levels = levels;
    for (unsigned level = 0; level < levels; level++) {
        OverlayEntry **link = (OverlayEntry **)&links[level][level];

        entry->next[level] = *link;
        *link = entry;
    }
    o->count++;
    return entry;
}

void overlay_remove(Overlay *o, OverlayEntry *entry)
{
    OverlayEntry *const *links[LEVELS_MAX];

    before(o, entry->key, links);
    for (unsigned level = 0; level < entry->levels; level++) {
        OverlayEntry **link = (OverlayEntry **)&links[level][level];

        *link = entry->next[level];
    }
    o->count--;
    free(entry->now.node);
    free(entry);
}
