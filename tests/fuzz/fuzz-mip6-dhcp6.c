/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DHCPv6 client for care-of addresses
 *
 * Input: steps. A step is an octet and, for a message, its length and octets:
 *
 *   0x00 to 0x7f     that many tenths of a second pass
 *   0x80             a server's message, whose transaction is made right
 *   0x81             the same, with our client identifier before its options
 *   0x82, 0x83, 0x84 decline, start, release
 *
 * Whatever servers say, the client sends no more than its timers allow, in
 * messages of a bounded length, and its address can be used.
 */
#include <glib.h>
#include <string.h>

#include "base/octets.h"
#include "base/units.h"
#include "net/mip6/careof/dhcp6.h"
#include "net/packet/ip6.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t mac[] = { 2, 0, 0, 0, 0, 1 };

typedef struct Client {
    Mip6Dhcp6 d;
    int64_t now;
    uint32_t random;
    unsigned sent;
} Client;

static void take(void *opaque, const void *message, size_t len)
{
    Client *c = opaque;
    const uint8_t *p = message;
    size_t at = 4;

    g_assert(len >= 4 && len <= MIP6_DHCP6_MAX);
    g_assert(p[0] >= 1 && p[0] <= 9);
    while (at < len) {
        g_assert(len - at >= 4);
        at += 4 + get_be16(p + at + 2);
    }
    g_assert(at == len);
    c->sent++;
}

static uint32_t next_random(void *opaque)
{
    Client *c = opaque;

    return c->random = c->random * 1664525 + 1013904223;
}

static void changed(void *opaque, int64_t now)
{
}

static const Mip6Dhcp6Ops ops = {
    .send = take, .random = next_random, .changed = changed,
};

static void check(const Client *c)
{
    const Mip6Dhcp6 *d = &c->d;

    g_assert(mip6_dhcp6_state_name(d->state));
    g_assert(d->server.len <= MIP6_DHCP6_DUID_MAX);
    g_assert(d->state != MIP6_DHCP6_OFF || !d->has_address);
    if (d->has_address) {
        g_assert(packet_ip6_is_routable(&d->address));
        g_assert(d->preferred <= d->valid);
    }
    if (d->state == MIP6_DHCP6_BOUND || d->state == MIP6_DHCP6_RENEWING ||
        d->state == MIP6_DHCP6_REBINDING) {
        g_assert(d->has_address);
    }
}

static void pass(Client *c, int64_t ns)
{
    int64_t end = c->now + ns, at;
    unsigned before = c->sent;

    while ((at = mip6_dhcp6_deadline(&c->d)) <= end) {
        c->now = at > c->now ? at : c->now;
        mip6_dhcp6_tick(&c->d, c->now);
        check(c);
        g_assert(mip6_dhcp6_deadline(&c->d) > c->now);
    }
    c->now = end;
    /* At most a message for each tenth of a second, and one more. */
    g_assert(c->sent - before <= 2 + ns / (SECOND / 10));
}

static void hear(Client *c, const uint8_t *octets, size_t len, bool to_us)
{
    g_autofree uint8_t *p = g_malloc(4 + 14 + len);
    size_t at = 1;

    p[0] = len ? octets[0] : 7;
    put_be16(p + 1, c->d.id >> 8);
    p[3] = c->d.id;
    at = 4;
    if (to_us) {
        memcpy(p + at, "\0\1\0\xa\0\3\0\1", 8);
        memcpy(p + at + 8, mac, sizeof(mac));
        at += 14;
    }
    if (len > 1) {
        memcpy(p + at, octets + 1, len - 1);
        at += len - 1;
    }
    p = g_realloc(p, at);               /* sanitizers watch its end */
    mip6_dhcp6_message(&c->d, c->now, p, at);
    check(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Client c = { .now = SECOND, .random = 1 };

    mip6_dhcp6_init(&c.d, mac, &ops, &c);
    mip6_dhcp6_start(&c.d, c.now);
    pass(&c, 0);
    while (size) {
        uint8_t step = *data++;

        size--;
        if (step < 0x80) {
            pass(&c, step * (SECOND / 10));
        } else if (step <= 0x81 && size) {
            size_t len = *data < size - 1 ? *data : size - 1;

            hear(&c, data + 1, len, step & 1);
            data += 1 + len;
            size -= 1 + len;
            pass(&c, 0);
        } else if (step == 0x82) {
            mip6_dhcp6_decline(&c.d, c.now);
        } else if (step == 0x83) {
            if (c.d.state == MIP6_DHCP6_OFF) {
                mip6_dhcp6_start(&c.d, c.now);
            }
        } else if (step == 0x84) {
            mip6_dhcp6_release(&c.d, c.now);
        }
        check(&c);
    }
    /* No server speaks any more: an address ends, or is for ever. */
    pass(&c, 60 * SECOND);
    return 0;
}
