/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a migration carries of a port
 */
#include <string.h>

#include "net/mip6/port/internal.h"
#include "net/packet/octets.h"

#define SAVED_VERSION   1

/* Numbers in network order, one after the other. */
typedef struct Cursor {
    uint8_t *p;
    size_t left;
    bool bad;
} Cursor;

/* Copy octets out of (@write) or into @value. */
static void field(Cursor *c, bool write, void *value, size_t len)
{
    if (c->left < len) {
        c->bad = true;
        return;
    }
    memcpy(write ? (void *)c->p : value, write ? value : (void *)c->p, len);
    c->p += len;
    c->left -= len;
}

static void field32(Cursor *c, bool write, uint32_t *value)
{
    uint8_t octets[4];

    packet_put32(octets, *value);
    field(c, write, octets, sizeof(octets));
    *value = packet_get32(octets);
}

/* A number that is smaller in memory; what does not fit is bad. */
#define FIELD(c, write, value, max)                 \
    do {                                            \
        uint32_t number_ = (value);                 \
        field32(c, write, &number_);                \
        (c)->bad |= number_ > (max);                \
        (value) = number_;                          \
    } while (0)

static void ra_fields(Cursor *c, bool write, PacketNdRa *ra)
{
    uint32_t preference = ra->preference + 1;

    FIELD(c, write, ra->hop_limit, UINT8_MAX);
    FIELD(c, write, ra->managed, 1);
    FIELD(c, write, ra->other, 1);
    FIELD(c, write, ra->home_agent, 1);
    FIELD(c, write, preference, 2);
    ra->preference = preference <= 2 ? (int)preference - 1 : 0;
    FIELD(c, write, ra->lifetime, UINT16_MAX);
    FIELD(c, write, ra->reachable, UINT32_MAX);
    FIELD(c, write, ra->retrans, UINT32_MAX);
    FIELD(c, write, ra->mtu, UINT32_MAX);
    FIELD(c, write, ra->prefixes, PACKET_ND_PREFIX_MAX);
    for (unsigned i = 0; !c->bad && i < ra->prefixes; i++) {
        PacketNdPrefix *p = &ra->prefix[i];

        field(c, write, &p->prefix, sizeof(p->prefix));
        FIELD(c, write, p->len, 128);
        FIELD(c, write, p->on_link, 1);
        FIELD(c, write, p->autonomous, 1);
        FIELD(c, write, p->router_address, 1);
        FIELD(c, write, p->valid, UINT32_MAX);
        FIELD(c, write, p->preferred, UINT32_MAX);
    }
}

static void learned_fields(Cursor *c, bool write, Mip6HomeLearned *l)
{
    FIELD(c, write, l->has_guest_mac, 1);
    FIELD(c, write, l->has_router, 1);
    FIELD(c, write, l->has_ra, 1);
    field(c, write, l->guest_mac, sizeof(l->guest_mac));
    field(c, write, &l->router, sizeof(l->router));
    field(c, write, l->router_mac, sizeof(l->router_mac));
    ra_fields(c, write, &l->ra);
    FIELD(c, write, l->addresses, MIP6_HOME_ADDRESSES);
    for (unsigned i = 0; !c->bad && i < l->addresses; i++) {
        field(c, write, &l->address[i], sizeof(l->address[i]));
    }
}

static void binding_fields(Cursor *c, bool write, Mip6BindingSaved *b)
{
    uint32_t ms = b->remaining / 1000000;

    FIELD(c, write, b->bound, 1);
    FIELD(c, write, b->sequence, UINT16_MAX);
    field(c, write, &b->care_of, sizeof(b->care_of));
    FIELD(c, write, ms, UINT32_MAX);
    b->remaining = ms * 1000000ll;
}

size_t mip6_port_save(const Mip6Port *p, int64_t now, void *buf)
{
    Cursor c = { buf, MIP6_PORT_SAVED_MAX, false };
    Mip6HomeLearned learned = p->home.learned;
    Mip6BindingSaved binding;
    uint32_t version = SAVED_VERSION;

    mip6_binding_save(&p->binding, now, &binding);
    FIELD(&c, true, version, SAVED_VERSION);
    binding_fields(&c, true, &binding);
    learned_fields(&c, true, &learned);
    return c.bad ? 0 : MIP6_PORT_SAVED_MAX - c.left;
}

bool mip6_port_load(Mip6Port *p, int64_t now, const void *buf, size_t len)
{
    Cursor c = { (uint8_t *)buf, len, false };
    Mip6HomeLearned learned = { 0 };
    Mip6BindingSaved binding = { 0 };
    uint32_t version = 0;

    FIELD(&c, false, version, SAVED_VERSION);
    binding_fields(&c, false, &binding);
    learned_fields(&c, false, &learned);
    if (c.bad || c.left || version != SAVED_VERSION || !learned.addresses ||
        !packet_ip6_equal(&learned.address[0], &p->config.home.address) ||
        !mip6_binding_load(&p->binding, now, &binding)) {
        return false;
    }
    p->home.learned = learned;
    return true;
}
