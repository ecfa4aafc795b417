/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host on the foreign link: an address by DHCPv6 (RFC 8415), where a router
 * says that servers have them (M flag) and no prefix gives one
 *
 * The lease is one of the host's addresses, probed and chosen as the others. It
 * depends on the router that has advertised M.
 */
#include <string.h>

#include "net/mip6/careof/internal.h"

static Mip6Address *leased(Mip6CareOf *c)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        Mip6Address *a = &c->address[i];

        if (a->state != MIP6_ADDRESS_NONE && a->leased) {
            return a;
        }
    }
    return NULL;
}

static void drop(Mip6CareOf *c)
{
    Mip6Address *a = leased(c);

    if (a) {
        memset(a, 0, sizeof(*a));
        mip6_careof_tell(c);
    }
}

/* The client's address becomes the host's. */
static void lease_changed(void *opaque, int64_t now)
{
    Mip6CareOf *c = opaque;
    const Mip6Dhcp6 *d = &c->dhcp;
    Mip6Address *a = leased(c);

    if (a && d->has_address && packet_ip6_equal(&a->addr, &d->address)) {
        a->preferred = d->preferred;
        a->valid = d->valid;
        a->router = c->managed_by;
    } else {
        drop(c);
        a = d->has_address ? mip6_address_free(c) : NULL;
        if (a) {
            mip6_address_begin(c, now, a, &d->address, d->preferred, d->valid);
            a->leased = true;
            a->router = c->managed_by;
            mip6_address_tick(c, now, a);
        }
    }
    mip6_careof_tell(c);
}

static void lease_send(void *opaque, const void *message, size_t len)
{
    mip6_careof_send_dhcp6(opaque, message, len);
}

static uint32_t lease_random(void *opaque)
{
    Mip6CareOf *c = opaque;

    return c->ops->random(c->opaque);
}

static const Mip6Dhcp6Ops dhcp6_ops = {
    .send = lease_send,
    .random = lease_random,
    .changed = lease_changed,
};

void mip6_lease_init(Mip6CareOf *c)
{
    mip6_dhcp6_init(&c->dhcp, c->mac, &dhcp6_ops, c);
}

/* Is there an address without DHCPv6, or may one get valid? */
static bool has_own(const Mip6CareOf *c, int64_t now)
{
    for (unsigned i = 0; i < MIP6_CAREOF_ADDRESSES; i++) {
        const Mip6Address *a = &c->address[i];

        if ((a->state == MIP6_ADDRESS_TENTATIVE ||
             a->state == MIP6_ADDRESS_VALID) && !a->leased &&
            a->valid > now && !mip6_address_is_orphan(c, now, a)) {
            return true;
        }
    }
    return false;
}

void mip6_lease_seek(Mip6CareOf *c, int64_t now)
{
    Mip6Address *a = leased(c);

    if (!c->is_foreign || !c->is_managed || c->has_fixed || has_own(c, now)) {
        return;
    }
    if (a && mip6_address_is_orphan(c, now, a) &&
        !packet_ip6_equal(&a->router, &c->managed_by)) {
        /* Another router: this may be another link, with other servers. */
        a->router = c->managed_by;
        mip6_dhcp6_start(&c->dhcp, now);
    } else if (c->dhcp.state == MIP6_DHCP6_OFF) {
        mip6_dhcp6_start(&c->dhcp, now);
    }
}

void mip6_lease_take_router(Mip6CareOf *c, int64_t now, const PacketNd *nd)
{
    if (nd->ra.managed) {
        c->is_managed = true;
        c->managed_by = nd->src;
        mip6_lease_seek(c, now);
    } else if (packet_ip6_equal(&c->managed_by, &nd->src)) {
        c->is_managed = false;
    }
}

void mip6_lease_duplicate(Mip6CareOf *c, int64_t now)
{
    mip6_dhcp6_decline(&c->dhcp, now);
}

static bool can_send(const Mip6CareOf *c)
{
    return c->link_local.state == MIP6_ADDRESS_VALID;
}

void mip6_careof_foreign(Mip6CareOf *c, int64_t now, bool is_foreign)
{
    if (c->is_foreign == is_foreign) {
        return;
    }
    c->is_foreign = is_foreign;
    if (is_foreign) {
        mip6_lease_seek(c, now);
    } else {
        mip6_dhcp6_stop(&c->dhcp);
        drop(c);
    }
}

void mip6_careof_leave(Mip6CareOf *c, int64_t now)
{
    if (c->running && can_send(c)) {
        mip6_dhcp6_release(&c->dhcp, now);
    }
    c->is_foreign = false;
    drop(c);
}

bool mip6_careof_dhcp6(Mip6CareOf *c, int64_t now, const void *message,
                       size_t len)
{
    return mip6_dhcp6_message(&c->dhcp, now, message, len);
}

int64_t mip6_lease_deadline(const Mip6CareOf *c)
{
    return can_send(c) ? mip6_dhcp6_deadline(&c->dhcp) : INT64_MAX;
}

void mip6_lease_tick(Mip6CareOf *c, int64_t now)
{
    if (can_send(c)) {
        mip6_dhcp6_tick(&c->dhcp, now);
    }
}
