/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A DHCPv6 client for one address
 *
 * Theory of operation
 * ===================
 *
 *            +-> SOLICITING -> REQUESTING -+-> BOUND <-> RENEWING
 *            |       |                     |               |
 *   OFF -> start     +--- rapid commit ----+           REBINDING
 *            |                                             |
 *            +--- refused, lost, or declined --------------+
 *
 * It is a client of RFC 8415 with one IA_NA. Messages go to all servers and are
 * repeated as in section 15. Until the first Solicit's time has passed, the
 * best offer is kept: the highest preference, of equal ones the first; 255, or
 * a Reply with Rapid Commit, ends that at once (section 18.2.9). The random
 * delay before the first Solicit is left out: it comes after the caller's
 * duplicate address detection.
 *
 * A server that refuses, or that gives an address which cannot be used, is
 * asked again after 1 s, 2 s, ... 64 s, so that no server makes the client send
 * in a loop.
 */
#include <string.h>

#include "net/mip6/careof/dhcp6.h"
#include "base/octets.h"
#include "base/units.h"
#include "net/packet/ip6.h"

/* Section 7.6: initial and maximum timeout, maximum number of messages. */
#define SOLICIT_FIRST   1000u           /* ms */
#define SOLICIT_MAX     3600000u
#define REQUEST_FIRST   1000u
#define REQUEST_MAX     30000u
#define REQUESTS        10u
#define RENEW_FIRST     10000u
#define RENEW_MAX       600000u
#define DECLINE_FIRST   1000u
#define DECLINES        4u
/* Section 21.24. */
#define SOLICIT_MAX_LOW         60u     /* s */
#define SOLICIT_MAX_HIGH        86400u
#define INFINITE        UINT32_MAX
#define RENEW_SOONEST   5u              /* s; a T1 below is not kept */
#define REFUSALS_MAX    6u              /* 64 s */

#define HEADER_LEN      4u
#define OPTION_LEN      4u
#define IA_LEN          12u             /* without options in it */
#define ADDRESS_LEN     24u
#define DUID_LEN        10u

enum {
    SOLICIT = 1,
    ADVERTISE = 2,
    REQUEST = 3,
    RENEW = 5,
    REBIND = 6,
    REPLY = 7,
    RELEASE = 8,
    DECLINE = 9,
};

enum {
    OPTION_CLIENT = 1,
    OPTION_SERVER = 2,
    OPTION_IA_NA = 3,
    OPTION_ADDRESS = 5,
    OPTION_REQUEST = 6,
    OPTION_PREFERENCE = 7,
    OPTION_ELAPSED = 8,
    OPTION_STATUS = 13,
    OPTION_RAPID = 14,
    OPTION_SOLICIT_MAX = 82,
};

/* A server's message, as far as it is used. */
typedef struct Answer {
    uint8_t type;
    const uint8_t *server;      /* its DUID */
    size_t server_len;
    bool is_ours;               /* to this client */
    uint8_t preference;
    bool is_rapid;
    uint32_t solicit_max;       /* s; 0: not given */
    uint16_t status;            /* of the message, else of the IA */
    bool has_ia;
    uint32_t t1, t2;            /* s */
    bool has_address, is_gone;
    struct in6_addr address;
    uint32_t preferred, valid;  /* s */
} Answer;

/* --- octets --------------------------------------------------------------- */

static void duid(const Mip6Dhcp6 *d, uint8_t octets[DUID_LEN])
{
    put_be16(octets, 3);            /* DUID-LL (section 11.4) */
    put_be16(octets + 2, 1);        /* Ethernet */
    memcpy(octets + 4, d->mac, sizeof(d->mac));
}

/* Returns: the octets of the option; its header is written */
static uint8_t *put_option(uint8_t **p, uint16_t code, uint16_t len)
{
    uint8_t *at = *p + OPTION_LEN;

    put_be16(*p, code);
    put_be16(*p + 2, len);
    *p = at + len;
    return at;
}

static void put_ia(const Mip6Dhcp6 *d, uint8_t **p, bool with_address)
{
    uint8_t *ia = put_option(p, OPTION_IA_NA, IA_LEN +
                             (with_address ? OPTION_LEN + ADDRESS_LEN : 0));

    memset(ia, 0, IA_LEN);
    memcpy(ia, d->mac + 2, 4);          /* IAID */
    if (with_address) {
        uint8_t *in = ia + IA_LEN, *at = put_option(&in, OPTION_ADDRESS,
                                                    ADDRESS_LEN);

        memset(at, 0, ADDRESS_LEN);
        memcpy(at, &d->address, sizeof(d->address));
    }
}

static void send_message(Mip6Dhcp6 *d, int64_t now, uint8_t type)
{
    bool to_one = type == REQUEST || type == RENEW || type == RELEASE ||
                  type == DECLINE;
    int64_t elapsed = (now - d->begun) / (10 * MS);
    uint8_t buf[MIP6_DHCP6_MAX], *p = buf + HEADER_LEN, *at;

    put_be32(buf, (uint32_t)type << 24 | d->id);
    duid(d, put_option(&p, OPTION_CLIENT, DUID_LEN));
    if (to_one) {
        memcpy(put_option(&p, OPTION_SERVER, d->server.len), d->server.octets,
               d->server.len);
    }
    put_be16(put_option(&p, OPTION_ELAPSED, 2),
             elapsed < UINT16_MAX ? elapsed : UINT16_MAX);
    put_ia(d, &p, type != SOLICIT || d->has_address);
    if (type != RELEASE && type != DECLINE) {
        at = put_option(&p, OPTION_REQUEST, 2);
        put_be16(at, OPTION_SOLICIT_MAX);
    }
    if (type == SOLICIT) {
        put_option(&p, OPTION_RAPID, 0);
    }
    d->ops->send(d->opaque, buf, p - buf);
}

/* Returns: the next option, or NULL at the end, or if it is truncated */
static const uint8_t *next_option(const uint8_t **p, const uint8_t *end,
                                  uint16_t *code, size_t *len)
{
    const uint8_t *at = *p + OPTION_LEN;

    if ((size_t)(end - *p) < OPTION_LEN) {
        return NULL;
    }
    *code = get_be16(*p);
    *len = get_be16(*p + 2);
    if ((size_t)(end - at) < *len) {
        return NULL;
    }
    *p = at + *len;
    return at;
}

static uint16_t status_of(const uint8_t *option, size_t len)
{
    return len < 2 ? MIP6_DHCP6_UNSPEC_FAIL : get_be16(option);
}

static bool read_address(const Mip6Dhcp6 *d, Answer *a, const uint8_t *p,
                         size_t len)
{
    const uint8_t *end = p + len, *in = p + ADDRESS_LEN, *option;
    uint32_t preferred, valid;
    struct in6_addr addr;
    uint16_t code;
    size_t size;
    bool is_own, is_good = true;

    if (len < ADDRESS_LEN) {
        return false;
    }
    memcpy(&addr, p, sizeof(addr));
    preferred = get_be32(p + 16);
    valid = get_be32(p + 20);
    while ((option = next_option(&in, end, &code, &size))) {
        if (code == OPTION_STATUS && status_of(option, size)) {
            a->status = a->status ? a->status : status_of(option, size);
            is_good = false;
        }
    }
    is_own = d->has_address && packet_ip6_equal(&addr, &d->address);
    if (is_own && !valid) {
        a->is_gone = true;
    } else if (is_good && valid && preferred <= valid &&
               packet_ip6_is_routable(&addr) &&
               (is_own || !a->has_address)) {
        a->has_address = true;
        a->address = addr;
        a->preferred = preferred;
        a->valid = valid;
    }
    return in == end;
}

/* Section 21.4. One whose times contradict each other does not count. */
static bool read_ia(const Mip6Dhcp6 *d, Answer *a, const uint8_t *p,
                    size_t len)
{
    const uint8_t *end = p + len, *in = p + IA_LEN, *option;
    uint16_t code;
    size_t size;

    if (len < IA_LEN) {
        return false;
    }
    if (a->has_ia || memcmp(p, d->mac + 2, 4)) {
        return true;            /* another one */
    }
    a->t1 = get_be32(p + 4);
    a->t2 = get_be32(p + 8);
    if (a->t2 && a->t1 > a->t2) {
        return true;
    }
    a->has_ia = true;
    while ((option = next_option(&in, end, &code, &size))) {
        if (code == OPTION_STATUS) {
            a->status = a->status ? a->status : status_of(option, size);
        } else if (code == OPTION_ADDRESS &&
                   !read_address(d, a, option, size)) {
            return false;
        }
    }
    return in == end;
}

static bool read_option(const Mip6Dhcp6 *d, Answer *a, uint16_t code,
                        const uint8_t *p, size_t len)
{
    uint8_t own[DUID_LEN];

    switch (code) {
    case OPTION_CLIENT:
        duid(d, own);
        a->is_ours = len == sizeof(own) && !memcmp(p, own, sizeof(own));
        return true;
    case OPTION_SERVER:
        a->server = p;
        a->server_len = len;
        return len > 2 && len <= MIP6_DHCP6_DUID_MAX;
    case OPTION_IA_NA:
        return read_ia(d, a, p, len);
    case OPTION_PREFERENCE:
        a->preference = len ? p[0] : 0;
        return len == 1;
    case OPTION_STATUS:
        a->status = a->status ? a->status : status_of(p, len);
        return len >= 2;
    case OPTION_RAPID:
        a->is_rapid = true;
        return len == 0;
    case OPTION_SOLICIT_MAX:
        a->solicit_max = len == 4 ? get_be32(p) : 0;
        return len == 4;
    default:
        return true;
    }
}

/* Sections 16.3, 16.10. */
static bool read_answer(const Mip6Dhcp6 *d, Answer *a, const uint8_t *message,
                        size_t len)
{
    const uint8_t *end = message + len, *p = message + HEADER_LEN, *option;
    uint16_t code;
    size_t size;

    memset(a, 0, sizeof(*a));
    if (len < HEADER_LEN) {
        return false;
    }
    a->type = message[0];
    if ((a->type != ADVERTISE && a->type != REPLY) ||
        (get_be32(message) & 0xffffff) != d->id) {
        return false;
    }
    while ((option = next_option(&p, end, &code, &size))) {
        if (!read_option(d, a, code, option, size)) {
            return false;
        }
    }
    return p == end && a->server && a->is_ours;
}

/* --- states --------------------------------------------------------------- */

static int64_t min_time(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t until(int64_t now, uint32_t seconds)
{
    return seconds == INFINITE ? INT64_MAX : now + seconds * SECOND;
}

/* The only setter: a new exchange, whose first step is due at @next. */
static void enter(Mip6Dhcp6 *d, Mip6Dhcp6State state, int64_t now,
                  int64_t next)
{
    d->state = state;
    d->tries = 0;
    d->timeout = 0;
    d->id = d->ops->random(d->opaque) & 0xffffff;
    d->begun = now;
    d->next = next;
    if (state == MIP6_DHCP6_SOLICITING) {
        d->has_offer = false;
    }
}

static void tell(Mip6Dhcp6 *d, int64_t now)
{
    d->ops->changed(d->opaque, now);
}

/* A server has refused, or what it gave has no use. */
static void refuse(Mip6Dhcp6 *d, int64_t now, uint16_t status)
{
    d->status = status;
    enter(d, MIP6_DHCP6_SOLICITING, now, now + (SECOND << d->refusals));
    d->refusals += d->refusals < REFUSALS_MAX;
    tell(d, now);
}

static void lose(Mip6Dhcp6 *d, int64_t now)
{
    d->has_address = false;
    enter(d, MIP6_DHCP6_SOLICITING, now, now + SECOND);
    tell(d, now);
}

void mip6_dhcp6_init(Mip6Dhcp6 *d, const uint8_t mac[PACKET_ETH_ADDR_LEN],
                     const Mip6Dhcp6Ops *ops, void *opaque)
{
    memset(d, 0, sizeof(*d));
    d->ops = ops;
    d->opaque = opaque;
    memcpy(d->mac, mac, PACKET_ETH_ADDR_LEN);
    mip6_dhcp6_stop(d);
}

void mip6_dhcp6_start(Mip6Dhcp6 *d, int64_t now)
{
    d->refusals = 0;
    d->status = MIP6_DHCP6_SUCCESS;
    enter(d, MIP6_DHCP6_SOLICITING, now, now);
}

void mip6_dhcp6_stop(Mip6Dhcp6 *d)
{
    d->state = MIP6_DHCP6_OFF;
    d->has_address = d->has_offer = false;
    d->status = MIP6_DHCP6_SUCCESS;
    d->tries = d->refusals = 0;
    d->solicit_max = SOLICIT_MAX;
    d->next = INT64_MAX;
}

void mip6_dhcp6_release(Mip6Dhcp6 *d, int64_t now)
{
    if (d->has_address) {
        enter(d, MIP6_DHCP6_OFF, now, INT64_MAX);
        send_message(d, now, RELEASE);
    }
    mip6_dhcp6_stop(d);
}

void mip6_dhcp6_decline(Mip6Dhcp6 *d, int64_t now)
{
    if (d->has_address) {
        d->has_address = false;
        enter(d, MIP6_DHCP6_DECLINING, now, now);
        tell(d, now);
    }
}

/* --- answers -------------------------------------------------------------- */

static void keep_server(Mip6Dhcp6 *d, const Answer *a)
{
    d->server.len = a->server_len;
    memcpy(d->server.octets, a->server, a->server_len);
}

static bool is_server(const Mip6Dhcp6 *d, const Answer *a)
{
    return d->server.len == a->server_len &&
           !memcmp(d->server.octets, a->server, a->server_len);
}

/* Section 21.4: 0 leaves the times to the client. */
static void set_times(Mip6Dhcp6 *d, int64_t now, const Answer *a)
{
    uint32_t life = a->preferred ? a->preferred : a->valid;
    uint32_t t1 = a->t1, t2 = a->t2;

    if (!t1) {
        t1 = life == INFINITE ? INFINITE : life / 2;
    }
    if (!t2) {
        t2 = life == INFINITE ? INFINITE : life / 5 * 4;
    }
    t1 = t1 < RENEW_SOONEST ? RENEW_SOONEST : t1;
    t2 = t2 < t1 ? t1 : t2;
    d->renew = until(now, t1);
    d->rebind = until(now, t2);
    d->preferred = until(now, a->preferred);
    d->valid = until(now, a->valid);
}

static void take_lease(Mip6Dhcp6 *d, int64_t now, const Answer *a)
{
    keep_server(d, a);
    d->has_address = true;
    d->address = a->address;
    d->refusals = 0;
    d->status = MIP6_DHCP6_SUCCESS;
    set_times(d, now, a);
    enter(d, MIP6_DHCP6_BOUND, now, d->renew);
    tell(d, now);
}

/* Section 18.2.9. */
static void take_offer(Mip6Dhcp6 *d, int64_t now, const Answer *a)
{
    if (a->status || !a->has_address) {
        d->status = a->status ? a->status : MIP6_DHCP6_NO_ADDRS;
        tell(d, now);
        return;
    }
    if (d->has_offer && a->preference <= d->preference) {
        return;
    }
    keep_server(d, a);
    d->has_offer = true;
    d->preference = a->preference;
    if (!d->has_address) {
        d->address = a->address;
    }
    if (a->preference == UINT8_MAX || d->tries > 1) {
        d->next = now;          /* the tick requests it */
    }
}

/* Section 18.2.10. */
static void take_reply(Mip6Dhcp6 *d, int64_t now, const Answer *a)
{
    bool asks_new = d->state == MIP6_DHCP6_REQUESTING ||
                    d->state == MIP6_DHCP6_SOLICITING;

    switch (a->status) {
    case MIP6_DHCP6_SUCCESS:
        break;
    case MIP6_DHCP6_UNSPEC_FAIL:
    case MIP6_DHCP6_USE_MULTICAST:      /* we always do */
        d->status = a->status;
        return;                 /* it is repeated */
    case MIP6_DHCP6_NO_BINDING:
        if (!asks_new) {
            keep_server(d, a);
            d->status = a->status;
            enter(d, MIP6_DHCP6_REQUESTING, now, now);
            return;
        }
        /* fall through */
    default:
        if (a->status == MIP6_DHCP6_NOT_ON_LINK) {
            d->has_address = false;
        }
        if (asks_new || a->status == MIP6_DHCP6_NOT_ON_LINK) {
            refuse(d, now, a->status);
        }
        return;
    }
    if (a->has_address) {
        take_lease(d, now, a);
    } else if (a->is_gone) {
        d->has_address = false;
        refuse(d, now, MIP6_DHCP6_NO_ADDRS);
    } else if (asks_new) {
        refuse(d, now, MIP6_DHCP6_NO_ADDRS);
    }
}

bool mip6_dhcp6_message(Mip6Dhcp6 *d, int64_t now, const void *message,
                        size_t len)
{
    Answer a;

    if (d->state == MIP6_DHCP6_OFF || !d->tries ||
        !read_answer(d, &a, message, len)) {
        return false;
    }
    if (a.solicit_max >= SOLICIT_MAX_LOW && a.solicit_max <= SOLICIT_MAX_HIGH) {
        d->solicit_max = a.solicit_max * 1000;
    }
    switch (d->state) {
    case MIP6_DHCP6_SOLICITING:
        if (a.type == ADVERTISE) {
            take_offer(d, now, &a);
        } else if (a.is_rapid) {
            take_reply(d, now, &a);
        } else {
            return false;
        }
        break;
    case MIP6_DHCP6_REQUESTING:
    case MIP6_DHCP6_RENEWING:
        if (a.type != REPLY || !is_server(d, &a)) {
            return false;
        }
        take_reply(d, now, &a);
        break;
    case MIP6_DHCP6_REBINDING:
        if (a.type != REPLY) {
            return false;
        }
        take_reply(d, now, &a);
        break;
    case MIP6_DHCP6_DECLINING:
        if (a.type != REPLY || !is_server(d, &a)) {
            return false;
        }
        refuse(d, now, MIP6_DHCP6_SUCCESS);
        break;
    default:
        return false;
    }
    mip6_dhcp6_tick(d, now);
    return true;
}

/* --- time ----------------------------------------------------------------- */

/* Section 15: randomised by a tenth; the first of a Solicit is never less. */
static uint32_t randomised(Mip6Dhcp6 *d, uint32_t ms, bool only_more)
{
    uint32_t tenth = ms / 10, r = d->ops->random(d->opaque);

    return only_more ? ms + 1 + r % tenth : ms - tenth + r % (2 * tenth + 1);
}

static void send_next(Mip6Dhcp6 *d, int64_t now, uint8_t type, uint32_t first,
                      uint32_t max, int64_t end)
{
    if (!d->timeout) {
        d->timeout = randomised(d, first, type == SOLICIT);
    } else {
        d->timeout = d->timeout + randomised(d, d->timeout, false);
        if (max && d->timeout > max) {
            d->timeout = randomised(d, max, false);
        }
    }
    d->tries++;
    d->next = min_time(now + d->timeout * MS, end);
    send_message(d, now, type);
}

int64_t mip6_dhcp6_deadline(const Mip6Dhcp6 *d)
{
    return d->state == MIP6_DHCP6_OFF ? INT64_MAX
           : d->has_address ? min_time(d->next, d->valid) : d->next;
}

/* What is due changes the state first. */
static void advance(Mip6Dhcp6 *d, int64_t now)
{
    switch (d->state) {
    case MIP6_DHCP6_SOLICITING:
        if (d->has_offer) {
            enter(d, MIP6_DHCP6_REQUESTING, now, now);
        }
        break;
    case MIP6_DHCP6_REQUESTING:
        if (d->tries >= REQUESTS) {
            refuse(d, now, MIP6_DHCP6_UNSPEC_FAIL);
        }
        break;
    case MIP6_DHCP6_BOUND:
    case MIP6_DHCP6_RENEWING:
        if (d->rebind <= now) {
            enter(d, MIP6_DHCP6_REBINDING, now, now);
        } else if (d->state == MIP6_DHCP6_BOUND) {
            enter(d, MIP6_DHCP6_RENEWING, now, now);
        }
        break;
    case MIP6_DHCP6_DECLINING:
        if (d->tries >= DECLINES) {
            refuse(d, now, MIP6_DHCP6_SUCCESS);
        }
        break;
    default:
        break;
    }
}

void mip6_dhcp6_tick(Mip6Dhcp6 *d, int64_t now)
{
    if (d->state != MIP6_DHCP6_OFF && d->has_address && d->valid <= now) {
        lose(d, now);
    }
    if (d->next > now) {
        return;
    }
    advance(d, now);
    if (d->next > now) {
        return;
    }
    switch (d->state) {
    case MIP6_DHCP6_SOLICITING:
        send_next(d, now, SOLICIT, SOLICIT_FIRST, d->solicit_max, INT64_MAX);
        break;
    case MIP6_DHCP6_REQUESTING:
        send_next(d, now, REQUEST, REQUEST_FIRST, REQUEST_MAX, INT64_MAX);
        break;
    case MIP6_DHCP6_RENEWING:
        send_next(d, now, RENEW, RENEW_FIRST, RENEW_MAX, d->rebind);
        break;
    case MIP6_DHCP6_REBINDING:
        send_next(d, now, REBIND, RENEW_FIRST, RENEW_MAX, INT64_MAX);
        break;
    case MIP6_DHCP6_DECLINING:
        send_next(d, now, DECLINE, DECLINE_FIRST, 0, INT64_MAX);
        break;
    default:
        break;
    }
}

const char *mip6_dhcp6_state_name(Mip6Dhcp6State state)
{
    static const char *const names[] = {
        [MIP6_DHCP6_OFF] = "off",
        [MIP6_DHCP6_SOLICITING] = "soliciting",
        [MIP6_DHCP6_REQUESTING] = "requesting",
        [MIP6_DHCP6_BOUND] = "bound",
        [MIP6_DHCP6_RENEWING] = "renewing",
        [MIP6_DHCP6_REBINDING] = "rebinding",
        [MIP6_DHCP6_DECLINING] = "declining",
    };

    return names[state];
}
