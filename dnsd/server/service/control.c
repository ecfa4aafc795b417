/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests that are not plain queries
 *
 * Theory of operation
 *
 * TSIG is verified first: a request with a wrong signature gets NOTAUTH and has
 * no effect.  Then each request is answered at once, except for updates that
 * change something, and updates behind such a one, as they depend on it.  These
 * wait for the commit.  All updates of a zone that arrived together share one
 * commit (group commit).  A transfer over TCP has many messages, and is handled
 * by transfers.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "dnsd/server/serve/options.h"
#include "dnsd/server/service/control.h"
#include "dnsd/update/update.h"

/* One request being handled */
typedef struct Case {
    struct Case *next;
    DnsdRequest *request;
    Tsig tsig;
    bool is_signed;
    const DnsdZoneConfig *config;
    DnsdDynZone *dyn;           /* of an update that waits for commit, */
    uint16_t rcode;             /* for this reply */
} Case;

struct DnsdControl {
    DnsdTransfers *transfers;
    DnsdNotifier *notifier;
    const DnsdControlOps *ops;
    void *opaque;
    DnsdState *state;           /* for the current requests */
    uint64_t now;               /* seconds since 1970 */
    Case *waiting, **end;
    DnsdRefusals refusals;
    uint64_t updates[DNSD_RCODES];  /* by the RCODE of the answer */
    DnsdThreadState thread;     /* without counters: they were counted before */
    uint8_t out[DNS_MSG_MAX];
};

DnsdControl *dnsd_control_new(DnsdTransfers *transfers,
                              DnsdNotifier *notifier,
                              const DnsdControlOps *ops, void *opaque)
{
    DnsdControl *c = calloc(1, sizeof(*c));

    if (c) {
        c->transfers = transfers;
        c->notifier = notifier;
        c->ops = ops;
        c->opaque = opaque;
        c->end = &c->waiting;
    }
    return c;
}

void dnsd_control_free(DnsdControl *c)
{
    free(c);
}

/* The name of the key that signed the request, or NULL */
static const DnsName *key_of(const Case *one)
{
    return one->is_signed ? &one->tsig.key->name : NULL;
}

void dnsd_control_metrics(const DnsdControl *c, DnsdText *text)
{
    dnsd_refusals_metrics(&c->refusals, text);
    dnsd_transfers_metrics(c->transfers, text);
    dnsd_metrics_rcodes(text, c->updates, "updates_total");
}

/* --- replies -------------------------------------------------------------- */

/* Send the reply; the case ends. */
static void reply(DnsdControl *c, Case *one, size_t len)
{
    if (len && tsig_sign_reply(&one->tsig, c->out, &len, sizeof(c->out),
                               c->now)) {
        len = 0;
    }
    dnsd_request_reply(one->request, c->out, len);
    tsig_free(&one->tsig);
    free(one);
}

/* Reply without records: an error, or the end of an update or NOTIFY */
static void reply_rcode(DnsdControl *c, Case *one, uint16_t rcode)
{
    DnsdRequest *r = one->request;

    if (r->query.kind == DNS_QUERY_UPDATE) {
        c->updates[rcode]++;
    }
    reply(c, one, dnsd_serve_error(&c->state->serving, &r->client, &r->query,
                                   rcode, c->out, r->client.is_stream
                                   ? DNS_MSG_MAX : DNSD_UDP_MAX));
}

/* --- updates -------------------------------------------------------------- */

/* Refuse a request about the zone of @one->config. */
static void refuse(DnsdControl *c, const Case *one, DnsdRefusal kind)
{
    dnsd_refuse(&c->refusals, kind, &one->request->client.addr,
                &one->config->name, key_of(one));
}

/* Owners of a key may cause any number of lines; those of others are bounded. */
static void log_refused(DnsdControl *c, const Case *one,
                        const DnsUpdateResult *result)
{
    char key[DNS_NAME_TEXT_MAX], zone[DNS_NAME_TEXT_MAX];

    if (!one->is_signed && result->rcode == DNS_RCODE_REFUSED) {
        refuse(c, one, DNSD_REFUSED_UPDATE);
    } else if (one->is_signed && result->why) {
        c->refusals.count[DNSD_REFUSED_UPDATE]++;
        dns_name_to_text(&one->tsig.key->name, key);
        dns_name_to_text(&one->config->name, zone);
        base_log(LOG_WARNING, "zone %s: an update by %s gets RCODE %u: %s",
                 zone, key, result->rcode, result->why);
    }
}

static void update_zone(DnsdControl *c, Case *one, DnsdDynZone *dyn)
{
    DnsUpdatePolicy policy = { one->config->update, one->config->updates };
    DnsUpdateResult result;

    dns_update(dyn->store, &policy, one->request->msg, one->request->query.len,
               one->is_signed ? one->tsig.key : NULL, &result);
    log_refused(c, one, &result);
    dyn->has_edits |= result.has_changed;
    if (!dyn->has_edits) {
        reply_rcode(c, one, result.rcode);
        return;
    }
    one->dyn = dyn;
    one->rcode = result.rcode;
    one->next = NULL;
    *c->end = one;
    c->end = &one->next;
}

static void take_update(DnsdControl *c, Case *one)
{
    const DnsQuery *query = &one->request->query;
    const DnsdZone *zone = dnsd_state_find(c->state, query->qclass,
                                           &query->name, &one->config);
    DnsQuestion question;

    if (dns_update_zone(query->message, query->len, &question)) {
        reply_rcode(c, one, DNS_RCODE_FORMERR);
    } else if (!zone) {
        reply_rcode(c, one, DNS_RCODE_NOTAUTH);
    } else if (!one->config->updates) {
        refuse(c, one, DNSD_REFUSED_UPDATE);
        reply_rcode(c, one, DNS_RCODE_REFUSED);
    } else if (!dnsd_zone_store(zone)) {
        reply_rcode(c, one, DNS_RCODE_SERVFAIL);
    } else {
        update_zone(c, one, zone->dyn);
    }
}

static void commit(DnsdControl *c, const Case *one)
{
    DnsdDynZone *dyn = one->dyn;

    dyn->has_edits = false;
    dyn->has_failed = dns_store_commit(dyn->store);
    dnsd_notifier_look(c->notifier, c->state->keyring->keys, one->config,
                       dyn);
}

static void trace_update(const Case *one)
{
    char zone[DNS_NAME_TEXT_MAX], peer[DNSD_PEER_TEXT_MAX];

    if (!base_log_has(LOG_DEBUG)) {
        return;
    }
    dns_name_to_text(&one->config->name, zone);
    dnsd_peer_text(&one->request->client.addr, key_of(one), peer);
    base_log(LOG_DEBUG, "zone %s: an update of %s %s, serial %" PRIu32, zone,
             peer, one->dyn->has_failed ? "is not kept" : "is done",
             dnsd_dynzone_serial(one->dyn));
}

static void end_updates(DnsdControl *c)
{
    for (Case *one = c->waiting; one; one = one->next) {
        if (one->dyn->has_edits) {
            commit(c, one);
        }
    }
    for (Case *one = c->waiting, *next; one; one = next) {
        next = one->next;
        trace_update(one);
        reply_rcode(c, one, one->dyn->has_failed ? DNS_RCODE_SERVFAIL
                                                   : one->rcode);
    }
    c->waiting = NULL;
    c->end = &c->waiting;
}

/* --- transfers ------------------------------------------------------------ */

static bool may_have(const Case *one)
{
    return dnsd_askers_have(one->config->asker, one->config->askers,
                            &one->request->client.addr, key_of(one));
}

/* "zone example.: AXFR to 192.0.2.1 with the key k.example." */
static void describe(const Case *one, DnsXfrKind kind,
                     char text[DNSD_TRANSFER_TEXT_MAX])
{
    static const char *const what[] = {
        [DNS_XFR_AXFR] = "AXFR", [DNS_XFR_IXFR] = "IXFR",
        [DNS_XFR_AS_AXFR] = "IXFR as a whole zone", [DNS_XFR_SOA] = "the SOA",
    };
    char zone[DNS_NAME_TEXT_MAX], peer[DNSD_PEER_TEXT_MAX];

    dns_name_to_text(&one->config->name, zone);
    dnsd_peer_text(&one->request->client.addr, key_of(one), peer);
    snprintf(text, DNSD_TRANSFER_TEXT_MAX, "zone %s: %s to %s", zone,
             what[kind], peer);
}

static size_t datagram_room(const DnsQuery *query)
{
    return !query->has_edns || query->udp_size < DNS_UDP_MIN ? DNS_UDP_MIN
           : query->udp_size < DNS_UDP_ADVERTISED ? query->udp_size
                                                  : DNS_UDP_ADVERTISED;
}

static void transfer(DnsdControl *c, Case *one, DnsStore *store)
{
    const DnsQuery *query = &one->request->query;
    bool is_stream = one->request->client.is_stream;
    uint16_t rcode;
    DnsXfrOut *out = dns_xfr_out_new(store, query->message, query->len,
                                     &one->tsig, !is_stream, &rcode);
    char text[DNSD_TRANSFER_TEXT_MAX];
    int len;

    if (!out) {
        reply_rcode(c, one, rcode);
        return;
    }
    describe(one, dns_xfr_out_kind(out), text);
    if (dns_xfr_out_kind(out) != DNS_XFR_SOA) {
        base_log(LOG_NOTICE, "%s begins", text);
    }
    if (!is_stream) {
        len = dns_xfr_out_next(out, c->out, datagram_room(query), c->now);
        dnsd_transfers_count(c->transfers, out, len > 0);
        if (len > 0 && dns_xfr_out_kind(out) != DNS_XFR_SOA) {
            base_log(LOG_NOTICE, "%s: serial %" PRIu32 ", %" PRIu64
                     " records, %d octets", text, dns_xfr_out_serial(out),
                     dns_xfr_out_records(out), len);
        }
        dnsd_request_reply(one->request, c->out, len > 0 ? len : 0);
    } else if (!dnsd_transfers_start(c->transfers, one->request, out,
                                     c->state->keyring, text)) {
        base_log(LOG_WARNING, "%s: %u transfers are under way", text,
                 DNSD_TRANSFERS_MAX);
        dnsd_transfers_count(c->transfers, out, false);
        dns_xfr_out_free(out);
        reply_rcode(c, one, DNS_RCODE_SERVFAIL);
        return;
    } else {
        out = NULL;
    }
    dns_xfr_out_free(out);
    free(one);
}

static void take_transfer(DnsdControl *c, Case *one)
{
    const DnsQuery *query = &one->request->query;
    const DnsdZone *zone = dnsd_state_find(c->state, query->qclass,
                                           &query->name, &one->config);

    if (!zone) {
        reply_rcode(c, one, DNS_RCODE_NOTAUTH);
    } else if (!may_have(one)) {
        refuse(c, one, DNSD_REFUSED_TRANSFER);
        reply_rcode(c, one, DNS_RCODE_REFUSED);
    } else if (!dnsd_zone_store(zone)) {
        reply_rcode(c, one, DNS_RCODE_SERVFAIL);
    } else {
        transfer(c, one, dnsd_zone_store(zone));
    }
}

/* --- requests ------------------------------------------------------------- */

static void take_query(DnsdControl *c, Case *one)
{
    DnsdRequest *r = one->request;
    size_t room = r->client.is_stream ? DNS_MSG_MAX : DNSD_UDP_MAX;
    size_t len;

    if (dnsd_serve(&c->state->serving, &c->thread, &r->client, &r->query,
                   c->out, room, &len) != DNSD_REPLY) {
        len = 0;
    }
    reply(c, one, len);
}

static void take_notify(DnsdControl *c, Case *one)
{
    const DnsdRequest *r = one->request;
    DnsName zone = dns_query_name(&r->query);
    uint16_t rcode = c->ops->notify(c->opaque, &r->client.addr, key_of(one),
                                    r->msg, r->query.len);

    if (rcode == DNS_RCODE_REFUSED) {
        dnsd_refuse(&c->refusals, DNSD_REFUSED_NOTIFY, &r->client.addr, &zone,
                    key_of(one));
    }
    reply_rcode(c, one, rcode);
}

static void take_verified(DnsdControl *c, Case *one)
{
    DnsQuery *query = &one->request->query;
    DnsdOptions options;

    one->request->client.reserve = tsig_room(&one->tsig);
    dnsd_options_read(&options, &c->state->serving, &one->request->client,
                      query);
    if (options.wrong) {
        reply_rcode(c, one, DNS_RCODE_FORMERR);
    } else if (query->kind == DNS_QUERY_UPDATE) {
        take_update(c, one);
    } else if (query->kind == DNS_QUERY_NOTIFY) {
        take_notify(c, one);
    } else if (query->kind == DNS_QUERY_ASK &&
               (query->type == DNS_TYPE_AXFR ||
                query->type == DNS_TYPE_IXFR)) {
        take_transfer(c, one);
    } else {
        take_query(c, one);
    }
}

static DnsdRefusal refusal_of(uint16_t error)
{
    switch (error) {
    case TSIG_BADSIG:
        return DNSD_REFUSED_BADSIG;
    case TSIG_BADTIME:
        return DNSD_REFUSED_BADTIME;
    case TSIG_BADTRUNC:
        return DNSD_REFUSED_BADTRUNC;
    default:
        return DNSD_REFUSED_BADKEY;
    }
}

static void take(DnsdControl *c, DnsdRequest *request)
{
    Case *one = calloc(1, sizeof(*one));

    if (!one) {
        dnsd_request_reply(request, NULL, 0);
        return;
    }
    one->request = request;
    /* The query was parsed with its TSIG record, which goes now. */
    request->query.tsig_at = 0;
    switch (tsig_verify_request(&one->tsig, c->state->keyring->keys,
                                request->msg, &request->query.len, c->now)) {
    case TSIG_MALFORMED:
        reply_rcode(c, one, DNS_RCODE_FORMERR);
        break;
    case TSIG_REFUSED:
        dnsd_refuse(&c->refusals, refusal_of(one->tsig.error),
                    &request->client.addr, &one->tsig.unknown_name, NULL);
        request->client.reserve = tsig_room(&one->tsig);
        reply_rcode(c, one, DNS_RCODE_NOTAUTH);
        break;
    case TSIG_GOOD:
        one->is_signed = true;
        take_verified(c, one);
        break;
    case TSIG_NONE:
        take_verified(c, one);
        break;
    }
}

void dnsd_control_take(DnsdControl *c, DnsdState *state,
                       DnsdRequests *requests)
{
    c->now = base_clock(CLOCK_REALTIME) / SECOND;
    c->state = state;
    for (DnsdRequest *r = dnsd_requests_take(requests), *next; r; r = next) {
        next = r->next;
        take(c, r);
    }
    end_updates(c);
}
