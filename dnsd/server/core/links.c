/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interfaces of this host */
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/core/links.h"

typedef struct Link {
    unsigned index, master;
    bool is_vrf;
    bool is_old;                /* from before RTNL_LOST, not listed since */
    char name[IF_NAMESIZE];
} Link;

struct DnsdLinks {
    size_t count, room;
    Link *link;                 /* in no order */
};

typedef struct Pair {
    unsigned index, vrf;
} Pair;

struct DnsdVrfs {
    size_t count;
    Pair pair[];                /* sorted by index */
};

DnsdLinks *dnsd_links_new(void)
{
    return calloc(1, sizeof(DnsdLinks));
}

void dnsd_links_free(DnsdLinks *links)
{
    if (links) {
        free(links->link);
        free(links);
    }
}

/* --- links ---------------------------------------------------------------- */

static Link *find(const DnsdLinks *l, unsigned index)
{
    for (size_t i = 0; i < l->count; i++) {
        if (l->link[i].index == index) {
            return &l->link[i];
        }
    }
    return NULL;
}

static Link *add(DnsdLinks *l)
{
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 16;
        Link *more = realloc(l->link, room * sizeof(*more));

        if (!more) {
            return NULL;
        }
        l->link = more;
        l->room = room;
    }
    return &l->link[l->count++];
}

static bool is_same(const Link *a, const Link *b)
{
    return a->master == b->master && a->is_vrf == b->is_vrf &&
           !strcmp(a->name, b->name);
}

static bool put(DnsdLinks *l, const RtnlEvent *event)
{
    Link now = {
        .index = event->index, .master = event->master,
        .is_vrf = event->is_vrf,
    };
    Link *link = find(l, event->index);
    bool changed;

    memcpy(now.name, event->name, sizeof(now.name));
    changed = !link || !is_same(link, &now);
    link = link ? link : add(l);
    if (link) {
        *link = now;
    }
    return changed;
}

static bool drop(DnsdLinks *l, unsigned index)
{
    Link *link = find(l, index);

    if (link) {
        *link = l->link[--l->count];
    }
    return link;
}

static bool drop_old(DnsdLinks *l)
{
    size_t kept = 0, before = l->count;

    for (size_t i = 0; i < before; i++) {
        if (!l->link[i].is_old) {
            l->link[kept++] = l->link[i];
        }
    }
    l->count = kept;
    return kept < before;
}

bool dnsd_links_take(DnsdLinks *l, const RtnlEvent *event)
{
    switch (event->kind) {
    case RTNL_LINK:
        return put(l, event);
    case RTNL_LINK_GONE:
        return drop(l, event->index);
    case RTNL_LISTED:
        return drop_old(l);
    case RTNL_LOST:
        for (size_t i = 0; i < l->count; i++) {
            l->link[i].is_old = true;
        }
        return false;
    default:
        return false;
    }
}

unsigned dnsd_links_index(const DnsdLinks *l, const char *name)
{
    const Link *found = NULL;

    /* A link that was made again has two entries until the list is whole. */
    for (size_t i = 0; i < l->count; i++) {
        if (!strcmp(l->link[i].name, name) && (!found || found->is_old)) {
            found = &l->link[i];
        }
    }
    return found ? found->index : 0;
}

const char *dnsd_links_name(const DnsdLinks *l, unsigned index)
{
    const Link *link = find(l, index);

    return link ? link->name : NULL;
}

/* --- VRFs ----------------------------------------------------------------- */

static unsigned vrf_of(const DnsdLinks *l, const Link *link)
{
    const Link *master = link->is_vrf ? link
                         : link->master ? find(l, link->master) : NULL;

    return master && master->is_vrf ? master->index : 0;
}

unsigned dnsd_links_vrf(const DnsdLinks *l, unsigned index)
{
    const Link *link = find(l, index);

    return link ? vrf_of(l, link) : 0;
}

unsigned dnsd_links_next_vrf(const DnsdLinks *l, unsigned index)
{
    unsigned next = 0;

    for (size_t i = 0; i < l->count; i++) {
        const Link *link = &l->link[i];

        if (link->is_vrf && link->index > index &&
            (!next || link->index < next)) {
            next = link->index;
        }
    }
    return next;
}

static int compare(const void *a, const void *b)
{
    const Pair *x = a, *y = b;

    return x->index < y->index ? -1 : x->index > y->index;
}

DnsdVrfs *dnsd_links_vrfs(const DnsdLinks *l)
{
    DnsdVrfs *v = calloc(1, sizeof(*v) + l->count * sizeof(*v->pair));

    for (size_t i = 0; v && i < l->count; i++) {
        unsigned vrf = vrf_of(l, &l->link[i]);

        if (vrf) {
            v->pair[v->count++] = (Pair) { l->link[i].index, vrf };
        }
    }
    if (v && !v->count) {
        free(v);
        return NULL;
    }
    if (v) {
        qsort(v->pair, v->count, sizeof(*v->pair), compare);
    }
    return v;
}

unsigned dnsd_vrfs_of(const DnsdVrfs *v, unsigned index)
{
    const Pair key = { .index = index };
    const Pair *found = v ? bsearch(&key, v->pair, v->count, sizeof(key),
                                    compare) : NULL;

    return found ? found->vrf : 0;
}
