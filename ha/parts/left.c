/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Care-of addresses of nodes that have returned home */
#include <stddef.h>

#include "ha/base/addr.h"
#include "ha/parts/left.h"

void mip6_left_init(Mip6Left *l)
{
    l->homes = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, NULL,
                                     g_free);
    mip6_expiry_init(&l->expiry);
}

void mip6_left_destroy(Mip6Left *l)
{
    mip6_expiry_destroy(&l->expiry);
    g_hash_table_destroy(l->homes);
}

void mip6_left_add(Mip6Left *l, const struct in6_addr *home,
                   const struct in6_addr *care_of, int64_t until, unsigned max)
{
    Mip6LeftHome *h = g_hash_table_lookup(l->homes, home);

    if (!h && g_hash_table_size(l->homes) >= max) {
        return;
    }
    if (!h) {
        h = g_new0(Mip6LeftHome, 1);
        h->home = *home;
        g_hash_table_insert(l->homes, &h->home, h);
    }
    h->care_of = *care_of;
    mip6_expiry_set(&l->expiry, &h->due, until);
}

static void forget(Mip6Left *l, Mip6LeftHome *h)
{
    mip6_expiry_remove(&l->expiry, &h->due);
    g_hash_table_remove(l->homes, &h->home);
}

void mip6_left_remove(Mip6Left *l, const struct in6_addr *home)
{
    Mip6LeftHome *h = g_hash_table_lookup(l->homes, home);

    if (h) {
        forget(l, h);
    }
}

const Mip6LeftHome *mip6_left_find(const Mip6Left *l, int64_t now,
                                   const struct in6_addr *home)
{
    const Mip6LeftHome *h = g_hash_table_lookup(l->homes, home);

    return h && now < h->due.at ? h : NULL;
}

int64_t mip6_left_deadline(const Mip6Left *l)
{
    const Mip6Due *next = mip6_expiry_next(&l->expiry);

    return next ? next->at : INT64_MAX;
}

void mip6_left_tick(Mip6Left *l, int64_t now, unsigned max)
{
    for (unsigned i = 0; i < max; i++) {
        Mip6Due *next = mip6_expiry_next(&l->expiry);

        if (!next || next->at > now) {
            break;
        }
        forget(l, (void *)((char *)next - offsetof(Mip6LeftHome, due)));
    }
}
