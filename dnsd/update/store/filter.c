/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter of a store's deltas */
#include <stdlib.h>
#include <string.h>

#include "dnsd/update/store/filter.h"
#include "net/dns/zone/find.h"

#define NAMES_MIN   16384
/* The factor by which the number of names may grow before a new filter */
#define GROWTH      2

static void add_all(DnsFilter *f, ZoneImage *image)
{
    ZoneNode node;

    for (uint32_t ref = image->nodes ? 1 : 0;
         ref && zone_node_get(image, ref, &node);
         ref = zone_node_next(&node)) {
        f->names += zone_filter_add(&f->filter,
                                    zone_name_hash(f->filter.key, node.name,
                                                   node.name_len));
    }
}

DnsFilter *dns_filter_new(const uint64_t key[2], ZoneImage *const *images,
                          unsigned count)
{
    DnsFilter *f = calloc(1, sizeof(*f));
    size_t len;

    if (!f) {
        return NULL;
    }
    for (unsigned i = 0; i < count; i++) {
        f->names_max += images[i]->nodes * GROWTH;
    }
    f->names_max = f->names_max < NAMES_MIN ? NAMES_MIN : f->names_max;
    f->refs = 1;
    memcpy(f->filter.key, key, sizeof(f->filter.key));
    f->filter.blocks = f->names_max / ZONE_FILTER_NAMES + 1;
    len = f->filter.blocks * sizeof(*f->filter.block);
    f->filter.block = aligned_alloc(sizeof(*f->filter.block), len);
    if (!f->filter.block) {
        free(f);
        return NULL;
    }
    memset(f->filter.block, 0, len);
    for (unsigned i = 0; i < count; i++) {
        add_all(f, images[i]);
    }
    return f;
}

bool dns_filter_add(DnsFilter *f, ZoneImage *image)
{
    add_all(f, image);
    return f->names <= f->names_max;
}

DnsFilter *dns_filter_ref(DnsFilter *f)
{
    if (f) {
        f->refs++;
    }
    return f;
}

void dns_filter_unref(DnsFilter *f)
{
    if (f && !--f->refs) {
        free(f->filter.block);
        free(f);
    }
}
