/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing a zone image: memory behind the octets written */
#include "net/dns/zone/write-internal.h"

#define GROW_MIN        (1u << 20)
#define GROW_MAX        (64u << 20)

int zone_writer_room(ZoneWriter *w, uint64_t len)
{
    uint64_t need = w->end + len;
    uint64_t more = w->out->room / 2;

    if (need <= w->out->room) {
        return 0;
    }
    more = more < GROW_MIN ? GROW_MIN : more > GROW_MAX ? GROW_MAX : more;
    more += w->out->room;
    return w->out->grow(w->out, zone_align_up(need < more ? more : need,
                                              ZONE_PAGE));
}
