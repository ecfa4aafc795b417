/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reassembles IPv6 fragments (RFC 8200 section 4.5) */
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/packet/ecn.h"
#include "net/packet/fragment.h"

#define LIVES           (60 * SECOND)
#define UNIT            8u
#define ADDRESSES_AT    8u
#define ADDRESSES_LEN   32u

static void give_up(PacketReassembly *r, PacketFragments *f)
{
    r->lost += f->fragments;
    f->until = 0;
}

/* Finds the packet's entry, or makes one, replacing the oldest if necessary. */
static PacketFragments *find(PacketReassembly *r, int64_t now,
                             const uint8_t *packet, uint32_t id)
{
    PacketFragments *room = &r->slot[0];

    for (unsigned i = 0; i < PACKET_REASSEMBLY_SLOTS; i++) {
        PacketFragments *f = &r->slot[i];

        if (f->until && f->until <= now) {
            give_up(r, f);
        }
        if (f->until && f->id == id &&
            !memcmp(f->packet + ADDRESSES_AT, packet + ADDRESSES_AT,
                    ADDRESSES_LEN)) {
            return f;
        }
        if (f->until < room->until) {
            room = f;
        }
    }
    if (room->until) {
        give_up(r, room);
    }
    room->until = now + LIVES;
    room->id = id;
    room->fragments = 0;
    room->ecn = 0;
    room->have = room->end = room->total = 0;
    memset(room->got, 0, sizeof(room->got));
    memcpy(room->packet, packet, PACKET_IP6_LEN);
    return room;
}

/* Returns: false if some of these octets were received before */
static bool mark(PacketFragments *f, size_t offset, size_t len)
{
    for (size_t i = offset / UNIT; i < (offset + len + UNIT - 1) / UNIT; i++) {
        uint64_t bit = 1ull << i % 64;

        if (f->got[i / 64] & bit) {
            return false;
        }
        f->got[i / 64] |= bit;
    }
    return true;
}

static bool add(PacketFragments *f, const PacketIp6Ext *ext,
                const uint8_t *packet, const uint8_t *data, size_t len)
{
    size_t end = ext->fragment_offset + len;

    if (!mark(f, ext->fragment_offset, len) ||
        (f->total && (!ext->more || end > f->total)) ||
        (!ext->more && f->end > end)) {
        return false;
    }
    memcpy(f->packet + PACKET_IP6_LEN + ext->fragment_offset, data, len);
    f->have += len;
    f->end = end > f->end ? end : f->end;
    if (!ext->more) {
        f->total = end;
    }
    if (ext->fragment_offset == 0) {
        /* The packet gets the headers of its first fragment. */
        memcpy(f->packet, packet, PACKET_IP6_LEN);
        f->packet[6] = packet[ext->fragment];
    }
    return true;
}

/* RFC 3168 section 5.3. Returns: false if the packet must be dropped. */
static bool combine_ecn(PacketFragments *f)
{
    if (!(f->ecn & 1u << PACKET_ECN_CE)) {
        return true;
    }
    packet_ecn_set6(f->packet, PACKET_ECN_CE);
    return !(f->ecn & 1u << PACKET_ECN_NOT_ECT);
}

uint8_t *packet_reassemble(PacketReassembly *r, int64_t now,
                           const uint8_t *packet, size_t len,
                           const PacketIp6Ext *ext, size_t *whole_len)
{
    size_t head = PACKET_IP6_LEN + PACKET_IP6_FRAGMENT_LEN;
    PacketFragments *f;

    if (ext->fragment != PACKET_IP6_LEN || len <= head ||
        (ext->more && len % UNIT) ||
        ext->fragment_offset + (len - head) > PACKET_REASSEMBLY_MAX) {
        r->lost++;
        return NULL;
    }
    f = find(r, now, packet, ext->fragment_id);
    f->fragments++;
    f->ecn |= 1u << packet_ecn_get6(packet);
    if (!add(f, ext, packet, packet + head, len - head)) {
        give_up(r, f);
        return NULL;
    }
    if (f->have != f->total) {
        return NULL;
    }
    if (!combine_ecn(f)) {
        give_up(r, f);
        return NULL;
    }
    f->until = 0;
    put_be16(f->packet + 4, f->total);
    *whole_len = PACKET_IP6_LEN + f->total;
    return f->packet;
}
