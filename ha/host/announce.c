/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Announcements of home addresses on the home link
 *
 * A restart with ten thousand bindings announces all of them. In one burst,
 * these would overrun the queues of switches and neighbours, and delay packets.
 * So they are sent in turns of limited size.
 */
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "ha/base/addr.h"
#include "ha/host/announce.h"

#define TURN_GAP        (20 * MS)
#define RETRANS         (1000 * MS)     /* RETRANS_TIMER (RFC 4861) */

typedef struct Entry {
    struct in6_addr home;
    unsigned left;              /* remaining announcements */
    Mip6Due due;
} Entry;

void mip6_announce_init(Mip6Announce *q,
                        void (*send)(void *opaque,
                                     const struct in6_addr *home),
                        void *opaque)
{
    memset(q, 0, sizeof(*q));
    q->send = send;
    q->opaque = opaque;
    q->turn = INT64_MIN;
    q->queued = g_hash_table_new_full(mip6_addr_hash, mip6_addr_equal, NULL,
                                      g_free);
    mip6_expiry_init(&q->expiry);
}

void mip6_announce_destroy(Mip6Announce *q)
{
    mip6_expiry_destroy(&q->expiry);
    g_hash_table_destroy(q->queued);
}

void mip6_announce_add(Mip6Announce *q, int64_t now,
                       const struct in6_addr *home, unsigned times)
{
    Entry *e = g_hash_table_lookup(q->queued, home);

    if (!e) {
        e = g_new0(Entry, 1);
        e->home = *home;
        g_hash_table_insert(q->queued, &e->home, e);
    }
    e->left = times;
    mip6_expiry_set(&q->expiry, &e->due, now);
}

void mip6_announce_at_once(Mip6Announce *q, int64_t now,
                           const struct in6_addr *home, unsigned times)
{
    q->send(q->opaque, home);
    q->sent++;
    if (times > 1) {
        mip6_announce_add(q, now + RETRANS, home, times - 1);
    }
}

static void forget(Mip6Announce *q, Entry *e)
{
    mip6_expiry_remove(&q->expiry, &e->due);
    g_hash_table_remove(q->queued, &e->home);
}

void mip6_announce_remove(Mip6Announce *q, const struct in6_addr *home)
{
    Entry *e = g_hash_table_lookup(q->queued, home);

    if (e) {
        forget(q, e);
    }
}

int64_t mip6_announce_deadline(const Mip6Announce *q)
{
    const Mip6Due *next = mip6_expiry_next(&q->expiry);

    return next ? MAX(next->at, q->turn) : INT64_MAX;
}

void mip6_announce_tick(Mip6Announce *q, int64_t now)
{
    if (mip6_announce_deadline(q) > now) {
        return;
    }
    q->turn = now + TURN_GAP;
    for (unsigned i = 0; i < MIP6_ANNOUNCE_TURN; i++) {
        Mip6Due *next = mip6_expiry_next(&q->expiry);
        Entry *e;

        if (!next || next->at > now) {
            break;
        }
        e = (void *)((char *)next - offsetof(Entry, due));
        q->send(q->opaque, &e->home);
        q->sent++;
        if (--e->left) {
            mip6_expiry_set(&q->expiry, &e->due, now + RETRANS);
        } else {
            forget(q, e);
        }
    }
}
