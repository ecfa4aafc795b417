/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zones of the VM's host, which are answered from their images
 *
 * Theory of operation
 *
 * If the VM has zones of its own, this file is the upstream of the proxy.  It
 * answers questions within the zones before send() returns, on the thread that
 * asks.  So the call that sends a query of the guest also answers it.  The
 * proxy treats the reply like any other: AAAA becomes A, and the policy judges
 * addresses.
 *
 * Two kinds of question go on to the servers:
 *
 *   - a name below a delegation of the zone: the servers follow it;
 *   - the target of an alias that leads out of all zones: the reply is joined
 *     from the aliases of the images and the servers' reply for the target.
 *     The servers' reply may have compressed names, so its records are written
 *     anew.
 *
 * Images are read into memory and not mapped: if a mapped file were truncated,
 * QEMU would be killed.
 */
#include <errno.h>
#include <sys/random.h>

#include "base/octets.h"
#include "net/dns/answer/answer.h"
#include "net/dns/own/alias.h"
#include "net/dns/own/zones.h"

/* Steps from zone to zone; RFC 1034 section 5.2.2 sets no number. */
#define ALIASES_MAX 8

static GQuark error_quark(void)
{
    return g_quark_from_static_string("dns-own-zones-error");
}

struct DnsOwnZones {
    const DnsUpstreamOps *ops;
    void *upstream;
    DnsOwnZonesCounters counters;
    DnsOwnZone *zone[DNS_OWN_ZONES_MAX];
    DnsZoneTable *table;        /* the zones that are set */
    uint64_t key[2];            /* secret key of the table */
    GHashTable *chases;         /* by asker and request: at most one each */
    bool busy;                  /* a callback reads @out */
    uint8_t out[DNS_MSG_MAX];
};

/* A question whose alias leads out of its zone */
typedef struct Chase {
    DnsOwnZones *zones;
    DnsReplyFn *reply;
    void *opaque;
    uint64_t request;
    uint8_t *head;              /* the part of the reply from the images */
    size_t head_len;
    DnsQuestion target;         /* the question for the servers */
    unsigned aliases;           /* steps from zone to zone so far */
} Chase;

static guint chase_hash(gconstpointer value)
{
    const Chase *chase = value;

    return g_direct_hash(chase->opaque) ^ g_int64_hash(&chase->request);
}

static gboolean chase_equal(gconstpointer a, gconstpointer b)
{
    const Chase *one = a, *two = b;

    return one->opaque == two->opaque && one->request == two->request;
}

/* The servers do not work on it any more. */
static void chase_free(gpointer value)
{
    Chase *chase = value;

    g_free(chase->head);
    g_free(chase);
}

DnsOwnZones *dns_own_zones_new(const DnsUpstreamOps *ops, void *upstream)
{
    DnsOwnZones *zones = g_new0(DnsOwnZones, 1);

    zones->ops = ops;
    zones->upstream = upstream;
    zones->chases = g_hash_table_new_full(chase_hash, chase_equal, NULL,
                                          chase_free);
    /*
     * Early in boot the kernel has no random numbers: then the key is
     * guessable.
     */
    if (getrandom(zones->key, sizeof(zones->key), GRND_NONBLOCK) < 0) {
        zones->key[0] = g_get_monotonic_time();
    }
    return zones;
}

static gboolean give_up(gpointer key, gpointer value, gpointer opaque)
{
    DnsOwnZones *zones = opaque;

    zones->ops->cancel(zones->upstream, value, 0);
    return TRUE;
}

void dns_own_zones_free(DnsOwnZones *zones)
{
    if (!zones) {
        return;
    }
    g_hash_table_foreach_remove(zones->chases, give_up, zones);
    g_hash_table_destroy(zones->chases);
    dns_zone_table_free(zones->table);
    for (unsigned i = 0; i < DNS_OWN_ZONES_MAX; i++) {
        dns_own_zone_free(zones->zone[i]);
    }
    g_free(zones);
}

static DnsZoneTable *make_table(DnsOwnZones *zones, GError **errp)
{
    DnsServedZone served[DNS_OWN_ZONES_MAX];
    DnsZoneTable *table;
    size_t count = 0;

    for (unsigned i = 0; i < DNS_OWN_ZONES_MAX; i++) {
        if (zones->zone[i]) {
            ZoneImage *image = zones->zone[i]->image;

            served[count++] = (DnsServedZone) {
                .origin = image->origin,
                .rrclass = image->rrclass,
                .view = { .layers = 1, .layer = { image } },
            };
        }
    }
    table = dns_zone_table_new(zones->key, served, count);
    if (!table) {
        g_set_error(errp, error_quark(), errno, "%s",
                    errno == EEXIST ? "another file is of the same zone"
                                    : g_strerror(errno));
    }
    return table;
}

DnsOwnZone *dns_own_zones_set(DnsOwnZones *zones, unsigned slot,
                              DnsOwnZone *zone, GError **errp)
{
    DnsOwnZone *old = zones->zone[slot];
    DnsZoneTable *table;

    zones->zone[slot] = zone;
    table = make_table(zones, errp);
    if (!table) {
        zones->zone[slot] = old;
        return zone;
    }
    dns_zone_table_free(zones->table);
    zones->table = table;
    return old;
}

bool dns_own_zones_is_above(const DnsOwnZones *zones, const DnsName *name)
{
    for (unsigned i = 0; i < DNS_OWN_ZONES_MAX; i++) {
        const DnsName *origin;

        if (!zones->zone[i]) {
            continue;
        }
        origin = &zones->zone[i]->image->origin;
        if (origin->len > name->len && dns_name_within(origin, name)) {
            return true;
        }
    }
    return false;
}

/*** Aliases that lead out ***/

/* The servers' reply for a target */
static void on_reply(void *opaque, uint64_t request, DnsUpstreamStatus status,
                     const uint8_t *msg, size_t len)
{
    g_autofree uint8_t *out = NULL;
    Chase *chase = opaque;

    /* The callback may ask and cancel. */
    g_hash_table_steal(chase->zones->chases, chase);
    if (msg) {
        out = g_malloc(DNS_MSG_MAX);
        len = dns_alias_join(chase->head, chase->head_len, msg, len, out);
        status = len ? status : DNS_UPSTREAM_BADREPLY;
    }
    chase->reply(chase->opaque, chase->request, status, len ? out : NULL, len);
    chase_free(chase);
}

static int ask(DnsOwnZones *zones, const uint8_t *message, size_t len,
               const Chase *as);

/* Ask for the target, which may be in another zone; @head is copied. */
static int begin_chase(DnsOwnZones *zones, const Chase *as, const DnsQuery *q,
                       const uint8_t *head, size_t len)
{
    uint8_t query[DNS_QUERY_MAX];
    Chase *chase = g_memdup2(as, sizeof(*as));
    uint16_t flags = q->flags & (DNS_FLAG_RD | DNS_FLAG_CD | DNS_FLAG_AD);
    int ret;

    chase->head = g_memdup2(head, len);
    chase->head_len = len;
    len = dns_query_build(query, &chase->target, flags, q->dnssec_ok);
    /* Add it first, as the reply may come during the call. */
    g_hash_table_add(zones->chases, chase);
    ret = ask(zones, query, len,
              &(Chase) { .zones = zones, .reply = on_reply, .opaque = chase,
                         .aliases = as->aliases + 1 });
    if (ret) {
        g_hash_table_remove(zones->chases, chase);
    }
    return ret;
}

/*** The upstream's face ***/

/* Is the reply complete? */
static bool is_whole(DnsOwnZones *zones, const DnsAnswerInfo *info)
{
    if (!info->zone) {
        return false;
    }
    switch (info->kind) {
    case DNS_ANSWER_RECORDS:
    case DNS_ANSWER_NODATA:
    case DNS_ANSWER_NXDOMAIN:
        zones->counters.answers++;
        return true;
    case DNS_ANSWER_ERROR:
        zones->counters.failed++;
        return true;
    case DNS_ANSWER_REFERRAL:
        zones->counters.referrals++;
        return false;
    default:
        return false;
    }
}

static int answer(DnsOwnZones *zones, const DnsQuery *query, size_t len,
                  uint8_t *out, const Chase *as)
{
    const DnsAnswerer answerer = {
        .zones = zones->table,
        .flags = DNS_ANSWER_STREAM | DNS_ANSWER_MINIMAL,
        .udp_size = DNS_UDP_ADVERTISED,
    };
    Chase target = *as;
    DnsAnswerInfo info;
    size_t reply_len = dns_answer(&answerer, query, out, DNS_MSG_MAX, &info);

    if (!is_whole(zones, &info)) {
        return zones->ops->send(zones->upstream, query->message, len,
                                as->reply, as->opaque, as->request);
    }
    if (info.kind == DNS_ANSWER_RECORDS &&
        dns_alias_leads_out(out, reply_len, query->type, &target.target)) {
        return as->aliases < ALIASES_MAX
               ? begin_chase(zones, &target, query, out, reply_len) : -ELOOP;
    }
    /* For the guest this server is a recursive one. */
    put_be16(out + 2, (get_be16(out + 2) & ~DNS_FLAG_AA) | DNS_FLAG_RA);
    as->reply(as->opaque, as->request, DNS_UPSTREAM_OK, out, reply_len);
    return 0;
}

/* @as: the asker, and the steps from zone to zone so far */
static int ask(DnsOwnZones *zones, const uint8_t *message, size_t len,
               const Chase *as)
{
    g_autofree uint8_t *own = NULL;
    uint8_t *out = zones->out;
    DnsQuery query;
    int ret;

    dns_query_read(message, len, &query);
    if (!zones->table || query.kind != DNS_QUERY_ASK) {
        return zones->ops->send(zones->upstream, message, len, as->reply,
                                as->opaque, as->request);
    }
    if (zones->busy) {
        out = own = g_malloc(DNS_MSG_MAX);
    }
    zones->busy = true;
    ret = answer(zones, &query, len, out, as);
    /* Only the outermost call uses @out. */
    zones->busy = own;
    return ret;
}

static int own_zones_send(void *opaque, const uint8_t *message, size_t len,
                          DnsReplyFn *reply, void *reply_opaque,
                          uint64_t request)
{
    const Chase as = { .zones = opaque, .reply = reply, .opaque = reply_opaque,
                       .request = request };

    return ask(opaque, message, len, &as);
}

static void own_zones_cancel(void *opaque, void *reply_opaque,
                             uint64_t request)
{
    Chase as = { .opaque = reply_opaque, .request = request };
    DnsOwnZones *zones = opaque;
    Chase *chase = g_hash_table_lookup(zones->chases, &as);

    if (chase) {
        own_zones_cancel(zones, chase, 0);
        g_hash_table_remove(zones->chases, chase);
    } else {
        zones->ops->cancel(zones->upstream, reply_opaque, request);
    }
}

const DnsUpstreamOps dns_own_zones_ops = {
    .send = own_zones_send,
    .cancel = own_zones_cancel,
};

const DnsOwnZonesCounters *dns_own_zones_counters(const DnsOwnZones *zones)
{
    return &zones->counters;
}
