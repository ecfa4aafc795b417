/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a port in a migration stream */
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/port/internal.h"

#define SAVED_VERSION   3

/* Reads or writes consecutive numbers in network byte order. */
typedef struct Cursor {
    uint8_t *p;
    size_t left;
    bool bad;
} Cursor;

/* Copies octets from (@write) or to @value. */
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

    put_be32(octets, *value);
    field(c, write, octets, sizeof(octets));
    *value = get_be32(octets);
}

/* For a number that has another size in memory; too large ones are invalid. */
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
    uint32_t ms = (b->remaining + MS - 1) / MS;    /* rounded up */

    FIELD(c, write, b->bound, 1);
    FIELD(c, write, b->sequence, UINT16_MAX);
    field(c, write, &b->care_of, sizeof(b->care_of));
    FIELD(c, write, ms, UINT32_MAX);
    b->remaining = ms * MS;
}

static void field64(Cursor *c, bool write, uint64_t *value)
{
    uint32_t high = *value >> 32, low = *value;

    field32(c, write, &high);
    field32(c, write, &low);
    *value = (uint64_t)high << 32 | low;
}

static void esp_fields(Cursor *c, bool write, EspSaState *s)
{
    field64(c, write, &s->next);
    field64(c, write, &s->replay.top);
    for (unsigned i = 0; i < ESP_REPLAY_WORDS; i++) {
        field64(c, write, &s->replay.seen[i]);
    }
}

typedef struct Saved {
    uint32_t configured;        /* number of configured home addresses */
    uint32_t bindings;          /* those of configured ones come first */
    struct in6_addr home[MIP6_HOME_ADDRESSES];
    Mip6BindingSaved binding[MIP6_HOME_ADDRESSES];
    Mip6HomeLearned learned;
    struct in6_addr agent;      /* in use; "::": unknown */
    bool has_esp;
    EspSaState esp[MIP6_HOME_ADDRESSES][MIP6_PROTECT_SAS];  /* configured */
} Saved;

/* For all configured addresses. */
static void protect_fields(Cursor *c, bool write, Saved *s)
{
    for (unsigned i = 0; i < s->configured; i++) {
        for (unsigned j = 0; !c->bad && j < MIP6_PROTECT_SAS; j++) {
            esp_fields(c, write, &s->esp[i][j]);
        }
    }
}

static void saved_fields(Cursor *c, bool write, Saved *s)
{
    uint32_t version = SAVED_VERSION;

    FIELD(c, write, version, SAVED_VERSION);
    c->bad |= version != SAVED_VERSION;
    FIELD(c, write, s->bindings, MIP6_HOME_ADDRESSES);
    FIELD(c, write, s->configured, s->bindings);
    for (unsigned i = 0; !c->bad && i < s->bindings; i++) {
        field(c, write, &s->home[i], sizeof(s->home[i]));
        binding_fields(c, write, &s->binding[i]);
    }
    learned_fields(c, write, &s->learned);
    field(c, write, &s->agent, sizeof(s->agent));
    FIELD(c, write, s->has_esp, 1);
    if (s->has_esp && !c->bad) {
        protect_fields(c, write, s);
    }
}

size_t mip6_port_save(const Mip6Port *p, int64_t now, void *buf)
{
    Cursor c = { buf, MIP6_PORT_SAVED_MAX, false };
    Saved s = {
        .configured = mip6_home_configured(&p->home),
        .bindings = p->bindings,
        .learned = p->home.learned,
        .agent = p->dhaad.agents ? *mip6_port_agent(p) : in6addr_any,
    };

    for (unsigned i = 0; i < p->bindings; i++) {
        s.home[i] = p->binding[i].config.home;
        mip6_binding_save(&p->binding[i], now, &s.binding[i]);
    }
    s.has_esp = mip6_port_has_esp(p);
    for (unsigned i = 0; i < mip6_port_protected(p) * MIP6_PROTECT_SAS; i++) {
        unsigned home = i / MIP6_PROTECT_SAS, sa = i % MIP6_PROTECT_SAS;

        mip6_protect_hand_over(p->config.protect[home], sa, &s.esp[home][sa]);
    }
    saved_fields(&c, true, &s);
    return c.bad ? 0 : MIP6_PORT_SAVED_MAX - c.left;
}

static bool read_saved(Saved *s, const void *buf, size_t len)
{
    Cursor c = { (uint8_t *)buf, len, false };

    memset(s, 0, sizeof(*s));
    saved_fields(&c, false, s);
    return !c.bad && !c.left;
}

unsigned mip6_port_saved_homes(const void *buf, size_t len,
                               struct in6_addr home[MIP6_HOME_ADDRESSES])
{
    Saved s;

    if (!read_saved(&s, buf, len)) {
        return 0;
    }
    memcpy(home, s.home, s.configured * sizeof(*home));
    return s.configured;
}

static bool is_among(const struct in6_addr *addr, const struct in6_addr *list,
                     unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (packet_ip6_equal(addr, &list[i])) {
            return true;
        }
    }
    return false;
}

/* Does the VM have the same home addresses as this port, in any order? */
static bool has_same_homes(const Mip6Port *p, const Saved *s)
{
    const Mip6HomeLearned *l = &p->home.learned;
    unsigned configured = mip6_home_configured(&p->home);

    if (s->configured != configured) {
        return false;
    }
    for (unsigned i = 0; i < configured; i++) {
        if (!is_among(&l->address[i], s->home, configured) ||
            !is_among(&l->address[i], s->learned.address,
                      s->learned.addresses)) {
            return false;
        }
    }
    return true;
}

static void load_binding(Mip6Port *p, int64_t now, const struct in6_addr *home,
                         const Mip6BindingSaved *saved)
{
    Mip6Binding *b = mip6_port_binding(p, home);

    if (!b && p->config.heard_addresses) {
        b = mip6_port_bind(p, home);
    }
    if (b) {
        mip6_binding_load(b, now, saved);
    }
}

/* Loads the sequence numbers of the associations, by home address. */
static bool load_esp(Mip6Port *p, const Saved *s)
{
    for (unsigned i = 0; i < s->configured * MIP6_PROTECT_SAS; i++) {
        unsigned home = i / MIP6_PROTECT_SAS, sa = i % MIP6_PROTECT_SAS;
        const Mip6Binding *b = mip6_port_binding(p, &s->home[home]);

        if (!b || !mip6_protect_load(p->config.protect[b - p->binding], sa,
                                     &s->esp[home][sa])) {
            return false;
        }
    }
    return true;
}

/* Loads the agent of all bindings. */
static bool load_agent(Mip6Port *p, const Saved *s)
{
    bool bound = false;

    for (unsigned i = 0; i < s->bindings; i++) {
        bound |= s->binding[i].bound;
    }
    return mip6_port_agent_load(p, &s->agent, bound);
}

bool mip6_port_load(Mip6Port *p, int64_t now, const void *buf, size_t len)
{
    Mip6Binding scratch = p->binding[0];
    Saved s;

    if (!read_saved(&s, buf, len) || !has_same_homes(p, &s) ||
        s.has_esp != mip6_port_has_esp(p)) {
        return false;
    }
    for (unsigned i = 0; i < s.bindings; i++) {
        if (!mip6_binding_load(&scratch, now, &s.binding[i])) {
            return false;
        }
    }
    if (!load_agent(p, &s)) {
        return false;
    }
    if (s.has_esp && !load_esp(p, &s)) {
        return false;
    }
    mip6_home_load(&p->home, &s.learned);
    for (unsigned i = 0; i < s.bindings; i++) {
        load_binding(p, now, &s.home[i], &s.binding[i]);
    }
    return true;
}
