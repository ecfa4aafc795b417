/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions that libunbound asks and validates, on our event loop
 *
 * Theory of operation
 *
 * libunbound asks the same servers, as forwarders, for the answer and for the
 * keys of all zones up to a trust anchor.  It has its own timers, retries and
 * cache.  With its event API it runs on our descriptor and timers, so there is
 * no thread.  Each question also has our timeout, because libunbound continues
 * for a minute if a server drops one type of question.  It does not heed that a
 * server refuses, or that there is no route to it.  So we do: if that is so of
 * all servers, and none has answered since, all questions end.
 *
 * Other settings: names that libunbound answers itself by default (test,
 * home.arpa, reverse zones of private addresses) go to the servers.  NSEC3 with
 * more than 100 iterations makes an answer insecure (RFC 9276 section 3.2).
 * Limits against KeyTrap (CVE-2023-50387, -50868) are compiled into Debian's
 * 1.17.1 since +deb12u2.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/dns/client/config/anchors.h"
#include "net/dns/client/config/conf.h"
#include "net/dns/client/config/file.h"
#include "net/dns/client/core/rcode.h"
#include "net/dns/client/core/reply.h"
#include "net/dns/client/core/whole.h"
#include "net/dns/client/net/validate.h"
#include "net/dns/unbound/ub-event.h"
#include "net/dns/unbound/unbound.h"
#include "net/dns/unbound/why.h"

struct DnscValidator {
    DnscUbBase base;            /* must be first: libunbound points to it */
    const DnscUnbound *unbound;
    struct ub_ctx *ctx;
    DnscLoop *loop;
    VmmnetDnsCounters *counters;
    DnscFile anchors;
    DnsName *insecure;          /* a copy of the option */
    size_t insecures;
    int64_t timeout;
    DnscValidation *out;        /* what libunbound works on */
    size_t servers;
    VmmnetDnsAddress server[DNSC_SERVERS_MAX];
    uint32_t refused;           /* a bit for each that cannot be reached */
    unsigned refs;              /* one for the context, one per question */
};

struct DnscValidation {
    DnscValidation *next, **at; /* in the validator's list, while it is out */
    DnscValidator *validator;
    DnsQuestion question;
    DnscValidatedFn *done;
    void *opaque;
    int id;                     /* for libunbound */
    bool out;                   /* under way in libunbound */
    int error;                  /* no server can be reached; 0: unknown */
    bool whole;                 /* the whole message is wanted */
    DnscResult *result;         /* known at once: the timer delivers it */
    DnscTimer timer;
};

static void unref(DnscValidator *v)
{
    if (--v->refs == 0) {
        if (v->ctx) {
            v->unbound->destroy(v->ctx);
        }
        dnsc_file_clear(&v->anchors);
        free(v->insecure);
        dnsc_loop_unreserve(v->loop);
        free(v);
    }
}

static void set_out(DnscValidation *q, bool out)
{
    if (out == q->out) {
        return;
    }
    q->out = out;
    if (out) {
        q->next = q->validator->out;
        q->at = &q->validator->out;
        *q->at = q;
    } else {
        *q->at = q->next;
    }
    if (q->next) {
        q->next->at = out ? &q->next : q->at;
    }
}

static void release(DnscValidation *q)
{
    DnscValidator *v = q->validator;

    set_out(q, false);
    dnsc_timer_clear(v->loop, &q->timer);
    dnsc_loop_unreserve(v->loop);
    free(q);
    unref(v);
}

void dnsc_validation_cancel(DnscValidation *q)
{
    if (q->out) {
        q->validator->unbound->cancel(q->validator->ctx, q->id);
    }
    dnsc_result_unref(q->result);
    release(q);
}

static void finish(DnscValidation *q, DnscResult *result)
{
    DnscValidatedFn *done = q->done;
    void *opaque = q->opaque;

    release(q);
    done(opaque, result);
}

/*** Answers ***/

static DnscResult *read_packet(DnscValidation *q, int rcode,
                               const uint8_t *msg, int len)
{
    DnscResult *r = NULL;
    DnscLook look;
    int ret;

    if (rcode) {
        return dnsc_result_error(dnsc_rcode_error(rcode),
                                 dnsc_rcode_text(rcode));
    }
    if (!msg || len < 0 || dnsc_reply_look(msg, len, &look)) {
        return dnsc_result_error(VMMNET_DNS_FAILED, "the reply is malformed");
    }
    if (look.rcode != DNS_RCODE_NOERROR && look.rcode != DNS_RCODE_NXDOMAIN) {
        return dnsc_result_error(dnsc_rcode_error(look.rcode),
                                 dnsc_rcode_text(look.rcode));
    }
    ret = q->whole ? dnsc_whole_read(msg, len, &r)
                   : dnsc_reply_read(msg, len, &q->question, &r);
    if (ret == -EBADMSG) {
        return dnsc_result_error(VMMNET_DNS_FAILED, "the reply is malformed");
    }
    return r ? r : dnsc_result_error(VMMNET_DNS_RESOURCES, "out of memory");
}

/* libunbound also reports names below no trust anchor as insecure. */
static VmmnetDnsSecurity unproven(const DnscValidation *q)
{
    const DnscFile *anchors = &q->validator->anchors;
    size_t i;

    for (i = 0; i < q->validator->insecures; i++) {
        if (dns_name_within(&q->question.name, &q->validator->insecure[i])) {
            return VMMNET_DNS_INDETERMINATE;
        }
    }
    return dnsc_anchors_cover(anchors->text, anchors->len, &q->question.name) ?
           VMMNET_DNS_INSECURE : VMMNET_DNS_INDETERMINATE;
}

/* The records of a bogus answer are kept for callers that show them. */
static void set_bogus(DnscResult *r, const char *why)
{
    char text[DNSC_REASON_MAX];

    r->error = VMMNET_DNS_BOGUS;
    r->security = VMMNET_DNS_BOGUS_DATA;
    r->follow = false;
    r->ttl = 0;
    r->ede = dnsc_why_ede(why);
    dnsc_why_text(why, r->ede, time(NULL), text, sizeof(text));
    dnsc_result_set_reason(r, text, strlen(text));
}

static void resolved(void *opaque, int rcode, void *packet, int len,
                     int security, char *why, int ratelimited)
{
    DnscValidation *q = opaque;
    DnscResult *r = read_packet(q, rcode, packet, len);

    set_out(q, false);
    if (r->refs && security == 1) {
        set_bogus(r, why ? why : "");
        q->validator->counters->bogus++;
    } else if (r->refs && (!dnsc_error_is_failure(r->error))) {
        r->security = security == 2 ? VMMNET_DNS_SECURE : unproven(q);
        r->authenticated = security == 2;
        /* libunbound did not follow the chain, so it has no end. */
        r->follow = false;
    }
    q->result = r;
    /* This may be within ub_resolve_event(), and is within libunbound. */
    dnsc_timer_set(q->validator->loop, &q->timer, dnsc_now());
}

static void due(DnscTimer *timer)
{
    DnscValidation *q = (DnscValidation *)
                        ((char *)timer - offsetof(DnscValidation, timer));
    DnscResult *r = q->result;

    if (!r) {
        q->validator->unbound->cancel(q->validator->ctx, q->id);
        if (q->error) {
            r = dnsc_result_error(VMMNET_DNS_UNREACHABLE,
                                  strerrordesc_np(q->error));
        } else {
            q->validator->counters->timeouts++;
            r = dnsc_result_error(VMMNET_DNS_TIMEOUT,
                                  "no server answered in time");
        }
    }
    finish(q, r);
}

/*** Servers that cannot be reached ***/

static bool same_host(const VmmnetDnsAddress *a, const VmmnetDnsAddress *b)
{
    if (a->sa.sa_family != b->sa.sa_family) {
        return false;
    }
    return a->sa.sa_family == AF_INET ?
           a->in.sin_addr.s_addr == b->in.sin_addr.s_addr &&
           a->in.sin_port == b->in.sin_port :
           IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr) &&
           a->in6.sin6_port == b->in6.sin6_port;
}

/* This is before libunbound, so the timers end the questions. */
static void heard(DnscUbBase *base, int fd, int error)
{
    DnscValidator *v = (DnscValidator *)base;
    VmmnetDnsAddress peer = { .len = sizeof(peer.storage) };
    DnscValidation *q;
    size_t i;

    if (!error) {
        v->refused = 0;
        return;
    }
    if ((error != ECONNREFUSED && error != EHOSTUNREACH &&
         error != ENETUNREACH) || getpeername(fd, &peer.sa, &peer.len)) {
        return;
    }
    for (i = 0; i < v->servers; i++) {
        if (same_host(&v->server[i], &peer)) {
            v->refused |= UINT32_C(1) << i;
        }
    }
    if (!v->servers || v->refused + 1 != UINT32_C(1) << v->servers) {
        return;
    }
    for (q = v->out; q; q = q->next) {
        q->error = error;
        dnsc_timer_set(v->loop, &q->timer, dnsc_now());
    }
}

static DnscValidation *begin(DnscValidator *v, const DnsQuestion *question,
                             bool whole, DnscValidatedFn *done, void *opaque)
{
    DnscValidation *q = calloc(1, sizeof(*q));
    char name[DNS_NAME_TEXT_MAX];

    if (!q || dnsc_loop_reserve(v->loop)) {
        free(q);
        return NULL;
    }
    v->refs++;
    q->validator = v;
    q->question = *question;
    q->whole = whole;
    q->done = done;
    q->opaque = opaque;
    q->timer.fire = due;
    if (!v->out) {
        v->refused = 0;
    }
    set_out(q, true);
    dns_name_to_text(&question->name, name);
    dnsc_timer_set(v->loop, &q->timer, dnsc_now() + v->timeout);
    if (v->unbound->resolve(v->ctx, name, question->type, question->qclass, q,
                            resolved, &q->id)) {
        release(q);
        return NULL;
    }
    v->counters->queries++;
    return q;
}

DnscValidation *dnsc_validate(DnscValidator *v, const DnsQuestion *question,
                              DnscValidatedFn *done, void *opaque)
{
    return begin(v, question, false, done, opaque);
}

DnscValidation *dnsc_validate_whole(DnscValidator *v,
                                    const DnsQuestion *question,
                                    DnscValidatedFn *done, void *opaque)
{
    return begin(v, question, true, done, opaque);
}

/*** Setting up ***/

static int set(DnscValidator *v, const char *option, const char *value)
{
    return v->unbound->set_option(v->ctx, option, value);
}

static int set_number(DnscValidator *v, const char *option, size_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%zu", value);
    return set(v, option, text);
}

/* As unbound recommends, the RRset cache is twice the message cache. */
static int set_sizes(DnscValidator *v, const DnscValidatorOptions *o)
{
    int ret = 0;

    if (o->cache_octets) {
        ret = set_number(v, "rrset-cache-size:", o->cache_octets / 2);
        ret = ret ? ret : set_number(v, "msg-cache-size:",
                                     o->cache_octets / 4);
        ret = ret ? ret : set_number(v, "key-cache-size:",
                                     o->cache_octets / 8);
        ret = ret ? ret : set_number(v, "neg-cache-size:",
                                     o->cache_octets / 8);
    }
    if (!ret && o->bogus_ttl) {
        ret = set_number(v, "val-bogus-ttl:", o->bogus_ttl);
    }
    return ret;
}

static int set_insecure(DnscValidator *v, const DnscValidatorOptions *o)
{
    char name[DNS_NAME_TEXT_MAX];
    size_t i;
    int ret = 0;

    if (!o->insecures) {
        return 0;
    }
    v->insecure = calloc(o->insecures, sizeof(*v->insecure));
    if (!v->insecure) {
        return UB_NOMEM;
    }
    memcpy(v->insecure, o->insecure, o->insecures * sizeof(*v->insecure));
    v->insecures = o->insecures;
    for (i = 0; i < o->insecures && !ret; i++) {
        dns_name_to_text(&o->insecure[i], name);
        ret = set(v, "domain-insecure:", name);
    }
    return ret;
}

/* If an interface is set, libunbound uses no other, for both families. */
static int set_source(DnscValidator *v, const DnscValidatorOptions *o)
{
    char text[INET6_ADDRSTRLEN];
    int ret;

    if (!o->from6) {
        return 0;
    }
    inet_ntop(AF_INET6, o->from6, text, sizeof(text));
    ret = set(v, "outgoing-interface:", text);
    return ret ? ret : set(v, "outgoing-interface:", "0.0.0.0");
}

static int set_servers(DnscValidator *v, const DnscValidatorOptions *o)
{
    char host[INET6_ADDRSTRLEN], scope[IF_NAMESIZE], text[128];
    size_t i;
    int ret = 0;

    for (i = 0; i < o->count && !ret; i++) {
        const VmmnetDnsAddress *a = &o->servers[i];

        if (a->sa.sa_family == AF_INET) {
            inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
            snprintf(text, sizeof(text), "%s@%u", host,
                     ntohs(a->in.sin_port));
        } else {
            bool scoped = a->in6.sin6_scope_id &&
                          if_indextoname(a->in6.sin6_scope_id, scope);

            inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
            snprintf(text, sizeof(text), "%s%s%s@%u", host,
                     scoped ? "%" : "", scoped ? scope : "",
                     ntohs(a->in6.sin6_port));
        }
        ret = v->unbound->set_fwd(v->ctx, text);
    }
    return ret;
}

static int set_options(DnscValidator *v, const DnscValidatorOptions *o)
{
    const char *const options[][2] = {
        { "do-not-query-localhost:", "no" },
        { "unblock-lan-zones:", "yes" },
        { "val-nsec3-keysize-iterations:", "1024 100 2048 100 4096 100" },
        { "outgoing-range:", "128" },
        { "num-queries-per-thread:", "1024" },
        { "use-caps-for-id:", o->random_case ? "yes" : "no" },
        { "tcp-upstream:", o->use_vc ? "yes" : "no" },
    };
    size_t i;
    int ret = 0;

    for (i = 0; i < sizeof(options) / sizeof(options[0]) && !ret; i++) {
        ret = set(v, options[i][0], options[i][1]);
    }
    ret = ret ? ret : set_sizes(v, o);
    ret = ret ? ret : set_insecure(v, o);
    return ret ? ret : set_source(v, o);
}

static int set_up(DnscValidator *v, const DnscValidatorOptions *o,
                  const char **mistake)
{
    unsigned line;
    int ret;

    dnsc_ub_base_init(&v->base, v->loop);
    v->base.heard = heard;
    v->ctx = v->unbound->create(&v->base.super);
    if (!v->ctx) {
        *mistake = "libunbound has no memory";
        return -ENOMEM;
    }
    /* A library must not write to the stderr of its program. */
    v->unbound->debugout(v->ctx, NULL);
    ret = set_options(v, o);
    ret = ret ? ret : set_servers(v, o);
    if (!ret) {
        if (dnsc_file_init(&v->anchors, o->trust_anchor)) {
            return -ENOMEM;
        }
        dnsc_file_refresh(&v->anchors);
        if (!v->anchors.text) {
            *mistake = "trust_anchor names no file that can be read; Debian "
                       "has the root's in the package dns-root-data";
            return -ENOENT;
        }
        if (dnsc_anchors_count(v->anchors.text, v->anchors.len, &line,
                               mistake) < 0) {
            return -EINVAL;
        }
    }
    ret = ret ? ret : v->unbound->add_ta_file(v->ctx, o->trust_anchor);
    /* This finalizes the context, so it is last: RFC 6761 6.2, RFC 8375 5. */
    ret = ret ? ret : v->unbound->zone_remove(v->ctx, "test.");
    ret = ret ? ret : v->unbound->zone_remove(v->ctx, "home.arpa.");
    if (ret) {
        *mistake = v->unbound->strerror(ret);
        return ret == UB_NOMEM ? -ENOMEM : -EINVAL;
    }
    return 0;
}

DnscValidator *dnsc_validator_new(DnscLoop *loop, VmmnetDnsCounters *counters,
                                  const DnscValidatorOptions *options,
                                  const char **mistake)
{
    const DnscUnbound *unbound = dnsc_unbound();
    DnscValidator *v;
    int error;

    if (!unbound) {
        *mistake = "VMMNET_DNS_VALIDATE needs libunbound.so.8, which is not "
                   "installed (Debian's package libunbound8)";
        errno = ENOSYS;
        return NULL;
    }
    v = calloc(1, sizeof(*v));
    if (!v || dnsc_loop_reserve(loop)) {
        free(v);
        errno = ENOMEM;
        return NULL;
    }
    v->unbound = unbound;
    v->loop = loop;
    v->counters = counters;
    v->timeout = options->timeout;
    v->servers = options->count < DNSC_SERVERS_MAX ? options->count :
                 DNSC_SERVERS_MAX;
    if (v->servers) {
        memcpy(v->server, options->servers,
               v->servers * sizeof(v->server[0]));
    }
    v->refs = 1;
    error = set_up(v, options, mistake);
    if (error) {
        unref(v);
        errno = -error;
        return NULL;
    }
    return v;
}

bool dnsc_validator_is_whole(const DnscValidator *v)
{
    return dnsc_ub_base_is_whole(&v->base);
}

void dnsc_validator_release(DnscValidator *v)
{
    if (v) {
        unref(v);
    }
}
