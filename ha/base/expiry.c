/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heap of deadlines, whose entries know their position */
#include "ha/base/expiry.h"

void mip6_expiry_init(Mip6Expiry *e)
{
    e->heap = g_ptr_array_new();
}

void mip6_expiry_destroy(Mip6Expiry *e)
{
    g_ptr_array_free(e->heap, TRUE);
}

/* Positions start at 1, so the parent is at half the position. */
static Mip6Due *entry(const Mip6Expiry *e, guint place)
{
    return g_ptr_array_index(e->heap, place - 1);
}

static void put(Mip6Expiry *e, guint place, Mip6Due *due)
{
    g_ptr_array_index(e->heap, place - 1) = due;
    due->place = place;
}

static void rise(Mip6Expiry *e, Mip6Due *due)
{
    guint place = due->place;

    while (place > 1 && entry(e, place / 2)->at > due->at) {
        put(e, place, entry(e, place / 2));
        place /= 2;
    }
    put(e, place, due);
}

static void sink(Mip6Expiry *e, Mip6Due *due)
{
    guint place = due->place, child;

    while ((child = 2 * place) <= e->heap->len) {
        if (child < e->heap->len &&
            entry(e, child + 1)->at < entry(e, child)->at) {
            child++;
        }
        if (entry(e, child)->at >= due->at) {
            break;
        }
        put(e, place, entry(e, child));
        place = child;
    }
    put(e, place, due);
}

void mip6_expiry_set(Mip6Expiry *e, Mip6Due *due, int64_t at)
{
    due->at = at;
    if (!due->place) {
        g_ptr_array_add(e->heap, due);
        due->place = e->heap->len;
    }
    rise(e, due);
    sink(e, due);
}

void mip6_expiry_remove(Mip6Expiry *e, Mip6Due *due)
{
    Mip6Due *last;

    if (!due->place) {
        return;
    }
    last = g_ptr_array_remove_index(e->heap, e->heap->len - 1);
    if (last != due) {
        put(e, due->place, last);
        rise(e, last);
        sink(e, last);
    }
    due->place = 0;
}

Mip6Due *mip6_expiry_next(const Mip6Expiry *e)
{
    return e->heap->len ? entry(e, 1) : NULL;
}
