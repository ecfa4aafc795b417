/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context of libunbound */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/resolver/context.h"
#include "dnsd/server/resolver/files.h"

#define OPTIONS_MAX     40
#define VALUE_MAX       32
#define FORWARD_MAX     80      /* octets of an address as text */
/* Queries to servers under way at a time: each takes a socket */
#define SOCKETS         1024
#define STREAMS         64
/* Old contexts last until their queries end, which may be after a reload. */
#define CONTEXTS        3

typedef struct Options {
    DnsdContext *context;
    int error;                  /* of libunbound; the first one */
    const char *name;           /* the option with that error */
} Options;

/* --- options -------------------------------------------------------------- */

static void set(Options *o, const char *name, const char *value)
{
    if (!o->error) {
        o->error = o->context->unbound->set_option(o->context->ctx, name,
                                                   value);
        o->name = name;
    }
}

static void set_number(Options *o, const char *name, uint32_t value)
{
    char text[VALUE_MAX];

    snprintf(text, sizeof(text), "%u", value);
    set(o, name, text);
}

/*
 * Options as in Debian's unbound, as the defaults of the library suit small
 * programs.  RFC 9276: NSEC3 with many iterations proves nothing.
 */
static void set_always(Options *o)
{
    static const char *const always[][2] = {
        { "minimal-responses:", "yes" },
        { "qname-minimisation:", "yes" },
        { "aggressive-nsec:", "yes" },
        { "harden-glue:", "yes" },
        { "harden-dnssec-stripped:", "yes" },
        { "harden-below-nxdomain:", "yes" },
        { "edns-buffer-size:", "1232" },
        { "val-nsec3-keysize-iterations:", "1024 100 2048 100 4096 100" },
    };

    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
        set(o, always[i][0], always[i][1]);
    }
}

/* The RRset cache takes most memory: unbound recommends twice the messages. */
static void set_sizes(Options *o, const DnsdResolverConfig *c, unsigned share)
{
    uint32_t size = c->cache_size / share;

    set_number(o, "rrset-cache-size:", size / 2);
    set_number(o, "msg-cache-size:", size / 4);
    set_number(o, "key-cache-size:", size / 8);
    set_number(o, "neg-cache-size:", size / 8);
    set_number(o, "outgoing-range:", SOCKETS / share);
    set_number(o, "outgoing-num-tcp:", STREAMS / share + 1);
    set_number(o, "num-queries-per-thread:", c->queries_max / share + 1);
}

/* RFC 8767 section 5: after 1.8 s the client gets expired data. */
static void set_stale(Options *o, const DnsdResolverConfig *c)
{
    if (c->serve_stale) {
        set(o, "serve-expired:", "yes");
        set(o, "serve-expired-ttl:", "86400");
        set(o, "serve-expired-reply-ttl:", "30");
        set(o, "serve-expired-client-timeout:", "1800");
    }
}

static void set_names(Options *o, const DnsdResolverConfig *c)
{
    char name[DNS_NAME_TEXT_MAX];

    for (size_t i = 0; i < c->insecures; i++) {
        dns_name_to_text(&c->insecure[i], name);
        set(o, "domain-insecure:", name);
    }
}

/*
 * The filter of system calls does not let libunbound look up an interface, so
 * it gets the index; with 0, of one that is not there, it cannot send.
 */
static void forward_text(const DnsdListen *at, char text[FORWARD_MAX])
{
    const struct sockaddr_in6 *six = (const void *)&at->addr;
    char address[INET6_ADDRSTRLEN];

    if (!*at->device) {
        snprintf(text, FORWARD_MAX, "%s", at->text);
        return;
    }
    inet_ntop(AF_INET6, &six->sin6_addr, address, sizeof(address));
    snprintf(text, FORWARD_MAX, "%s%%%u@%u", address, dnsd_listen_scope(at),
             ntohs(six->sin6_port));
}

/*
 * Private reverse zones and the like are not asked on the Internet (RFC 6303),
 * unless there are forwarders, which may know them.
 */
static void set_servers(Options *o, const DnsdResolverConfig *c)
{
    char text[FORWARD_MAX];

    if (c->forwards) {
        set(o, "unblock-lan-zones:", "yes");
        set(o, "do-not-query-localhost:", "no");
    } else {
        set(o, "do-not-query-localhost:", "yes");
        if (c->root_hints) {
            set(o, "root-hints:", c->root_hints);
        }
    }
    for (size_t i = 0; i < c->forwards && !o->error; i++) {
        forward_text(&c->forward[i], text);
        o->error = o->context->unbound->set_fwd(o->context->ctx, text);
        o->name = "forward";
    }
}

/* --- life ----------------------------------------------------------------- */

static bool context_fail(DnsdError *error, const DnsdResolverConfig *c,
                         const Options *o)
{
    const char *why = o->context->unbound->strerror(o->error);

    if (o->name) {
        snprintf(error->text, sizeof(error->text),
                 "resolver: libunbound does not take '%s': %s", o->name, why);
    } else {
        snprintf(error->text, sizeof(error->text),
                 "resolver: libunbound cannot begin with the trust anchors of "
                 "'%s': %s; right are DS or DNSKEY records in a file as "
                 "dns-root-data has it", c->trust_anchor, why);
    }
    return false;
}

static bool set_up(DnsdContext *context, const DnsdResolverConfig *c,
                   unsigned share, DnsdError *error)
{
    Options o = { .context = context };

    context->unbound->debugout(context->ctx, NULL);
    set_always(&o);
    set_sizes(&o, c, share);
    set_stale(&o, c);
    set_names(&o, c);
    set_servers(&o, c);
    if (c->dnssec == DNSD_DNSSEC_OFF) {
        set(&o, "module-config:", "iterator");
    } else if (!o.error) {
        o.error = context->unbound->add_ta_file(context->ctx,
                                                c->trust_anchor);
        o.name = "trust-anchor";
    }
    if (!o.error) {
        /*
         * RFC 6761 section 6.2.  This also finalizes the settings, so errors in
         * files are reported here.
         */
        o.error = context->unbound->zone_remove(context->ctx, "test.");
        o.name = NULL;
    }
    return !o.error || context_fail(error, c, &o);
}

DnsdContext *dnsd_context_new(const DnsdResolverConfig *config,
                              DnscLoop *loop, unsigned share,
                              DnsdError *error)
{
    const DnscUnbound *unbound = dnsc_unbound();
    DnsdContext *context;

    if (!unbound) {
        snprintf(error->text, sizeof(error->text),
                 "resolver.allow: a resolver needs libunbound.so.8, which is "
                 "not installed: install Debian's package libunbound8, or "
                 "leave the section 'resolver' out");
        return NULL;
    }
    if (!dnsd_resolver_files_check(config, error)) {
        return NULL;
    }
    context = calloc(1, sizeof(*context));
    if (context) {
        context->unbound = unbound;
        dnsc_ub_base_init(&context->base, loop);
        context->ctx = unbound->create(&context->base.super);
    }
    if (!context || !context->ctx) {
        snprintf(error->text, sizeof(error->text),
                 "resolver: there is no memory");
        free(context);
        return NULL;
    }
    if (!set_up(context, config, share, error)) {
        dnsd_context_free(context);
        return NULL;
    }
    return context;
}

void dnsd_context_free(DnsdContext *context)
{
    context->unbound->destroy(context->ctx);
    free(context);
}

unsigned dnsd_context_files(const DnsdResolverConfig *config)
{
    return config->is_on ? CONTEXTS * (SOCKETS + 2 * STREAMS +
                                       8 * config->threads) : 0;
}
