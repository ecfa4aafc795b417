/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A context: options, creation, files */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "net/dns/client/config/address.h"
#include "net/dns/client/face/context.h"
#include "net/dns/client/face/lookup.h"

#define RESOLV_CONF     "/etc/resolv.conf"
#define HOSTS           "/etc/hosts"
#define TRUST_ANCHOR    "/usr/share/dns/root.key"
/* 50 of RFC 8305 section 3, less 1 for waking the program */
#define DELAY_MS        49
#define DELAY_MS_MAX    2000    /* RFC 8305 section 8 sets no limit */
#define TIMEOUT_MS_MAX  60000
#define ATTEMPTS_MAX    10
#define CACHE_ENTRIES   256
#define INSECURES_MAX   64
#define CACHE_ENTRIES_MAX 65536

static __thread char said[320];

static int wrong(const char **mistake, int error, const char *option,
                 const char *value, const char *right)
{
    snprintf(said, sizeof(said), "%s is \"%.120s\", but it has to be %s",
             option, value, right);
    *mistake = said;
    return error;
}

static int wrong_number(const char **mistake, const char *option,
                        unsigned long value, unsigned long max)
{
    char text[24], right[32];

    snprintf(text, sizeof(text), "%lu", value);
    snprintf(right, sizeof(right), "at most %lu", max);
    return wrong(mistake, -EINVAL, option, text, right);
}

static int take_servers(VmmnetDns *dns, const char *const *servers,
                        const char **mistake)
{
    size_t i;

    for (i = 0; servers[i]; i++) {
        int ret = dnsc_list_add(&dns->servers, servers[i]);

        if (ret) {
            return wrong(mistake, -EINVAL, "servers", servers[i],
                         ret == -ENOSPC ? "one of 8 at most" :
                         "an IPv4 or IPv6 address, with %SCOPE and @PORT "
                         "behind it if they are needed");
        }
    }
    if (!i) {
        return wrong(mistake, -EINVAL, "servers", "",
                     "one address at least, or NULL");
    }
    dns->own_servers = true;
    return 0;
}

static int take_insecure(VmmnetDns *dns, const char *const *names,
                         const char **mistake)
{
    size_t i;

    dns->insecure = calloc(INSECURES_MAX, sizeof(*dns->insecure));
    if (!dns->insecure) {
        return -ENOMEM;
    }
    for (i = 0; names[i]; i++) {
        if (i == INSECURES_MAX) {
            return wrong(mistake, -EINVAL, "insecure", names[i],
                         "one of 64 at most");
        }
        /* libunbound would prefer the trust anchor of the root. */
        if (dns_name_from_text(&dns->insecure[i], names[i]) ||
            !dns->insecure[i].labels) {
            return wrong(mistake, -EINVAL, "insecure", names[i],
                         "a domain name below the root; without "
                         "VMMNET_DNS_VALIDATE nothing is validated");
        }
        dns->insecures++;
    }
    return 0;
}

static int check_numbers(const VmmnetDnsOptions *o, const char **mistake)
{
    if (o->timeout_ms > TIMEOUT_MS_MAX) {
        return wrong_number(mistake, "timeout_ms", o->timeout_ms,
                            TIMEOUT_MS_MAX);
    }
    if (o->attempts > ATTEMPTS_MAX) {
        return wrong_number(mistake, "attempts", o->attempts, ATTEMPTS_MAX);
    }
    if (o->resolution_delay_ms > DELAY_MS_MAX) {
        return wrong_number(mistake, "resolution_delay_ms",
                            o->resolution_delay_ms, DELAY_MS_MAX);
    }
    if (o->cache_entries > CACHE_ENTRIES_MAX) {
        return wrong_number(mistake, "cache_entries", o->cache_entries,
                            CACHE_ENTRIES_MAX);
    }
    return 0;
}

static int take_files(VmmnetDns *dns, const VmmnetDnsOptions *o)
{
    if (dnsc_file_init(&dns->resolv_conf,
                       o->resolv_conf ? o->resolv_conf : RESOLV_CONF) ||
        dnsc_file_init(&dns->hosts, o->hosts ? o->hosts : HOSTS)) {
        return -ENOMEM;
    }
    dns->trust_anchor = strdup(o->trust_anchor ? o->trust_anchor :
                               TRUST_ANCHOR);
    return dns->trust_anchor ? 0 : ENOMEM;
}

static int take_options(VmmnetDns *dns, const VmmnetDnsOptions *o,
                        const char **mistake)
{
    int error = check_numbers(o, mistake);

    if (!error && o->servers) {
        error = take_servers(dns, o->servers, mistake);
    }
    if (!error && o->insecure) {
        error = take_insecure(dns, o->insecure, mistake);
    }
    if (!error) {
        error = take_files(dns, o);
    }
    dns->flags = o->flags;
    dns->timeout_ms = o->timeout_ms;
    dns->attempts = o->attempts;
    dns->delay = 1000 * (o->resolution_delay_ms ? o->resolution_delay_ms :
                         DELAY_MS);
    return error;
}

/*** What the files say ***/

/* RFC 6840 section 5.7: AD is as trustworthy as the path to the server. */
static bool all_are_local(const DnscServerList *list)
{
    size_t i;

    for (i = 0; i < list->count; i++) {
        if (!dnsc_address_is_loopback(&list->addr[i])) {
            return false;
        }
    }
    return true;
}

static DnscAsker *new_asker(VmmnetDns *dns)
{
    DnscAsker *asker = calloc(1, sizeof(*asker)), *old = dns->fetcher.asker;

    if (!asker) {
        return NULL;
    }
    asker->refs = 1;
    asker->loop = &dns->loop;
    asker->ports.loop = &dns->loop;
    asker->counters = &dns->counters;
    asker->timeout = dns->timeout_ms ? dns->timeout_ms * INT64_C(1000) :
                     dns->conf.timeout * US_PER_S;
    asker->attempts = dns->attempts ? dns->attempts : dns->conf.attempts;
    asker->random_case = dns->flags & VMMNET_DNS_RANDOM_CASE;
    asker->use_vc = dns->conf.use_vc;
    asker->rotate = dns->conf.rotate;
    if (old) {
        asker->servers = old->servers;
    }
    if (!dns->own_servers) {
        dns->servers = dns->conf.servers;
    }
    dnsc_servers_set(&asker->servers, dns->servers.addr, dns->servers.count);
    asker->trust_ad = dns->conf.trust_ad || all_are_local(&dns->servers);
    return asker;
}

static DnscValidator *new_validator(VmmnetDns *dns, const DnscAsker *asker,
                                    const char **mistake)
{
    VmmnetDnsAddress present[DNSC_SERVERS_MAX];
    DnscValidatorOptions o = {
        .servers = present,
        .count = dnsc_list_present(&dns->servers, present),
        .trust_anchor = dns->trust_anchor,
        .insecure = dns->insecure,
        .insecures = dns->insecures,
        .random_case = asker->random_case,
        .use_vc = asker->use_vc,
        .timeout = asker->timeout * asker->attempts,
    };

    return dnsc_validator_new(&dns->loop, &dns->counters, &o, mistake);
}

static int apply_conf(VmmnetDns *dns, const char **mistake)
{
    DnscValidator *validator = NULL;
    DnscAsker *asker;
    char hostname[256];

    if (gethostname(hostname, sizeof(hostname))) {
        hostname[0] = '\0';
    }
    hostname[sizeof(hostname) - 1] = '\0';
    dnsc_conf_parse(&dns->conf, dns->resolv_conf.text, dns->resolv_conf.len,
                    hostname);
    asker = new_asker(dns);
    if (!asker) {
        return -ENOMEM;
    }
    if (dns->flags & VMMNET_DNS_VALIDATE) {
        validator = new_validator(dns, asker, mistake);
        if (!validator) {
            dnsc_asker_unref(asker);
            return -errno;
        }
    }
    dnsc_asker_unref(dns->fetcher.asker);
    dnsc_validator_release(dns->fetcher.validator);
    dns->fetcher.asker = asker;
    dns->fetcher.validator = validator;
    return 0;
}

void dnsc_context_refresh(VmmnetDns *dns)
{
    const char *mistake;

    dnsc_file_refresh(&dns->hosts);
    dns->stale |= dnsc_file_refresh(&dns->resolv_conf);
    dns->stale |= dnsc_list_follow(&dns->servers);
    if (!dns->stale || apply_conf(dns, &mistake)) {
        return;
    }
    dns->stale = false;
    if (dns->fetcher.cache) {
        dnsc_cache_clear(dns->fetcher.cache);
    }
}

/*** Life ***/

static void destroy(VmmnetDns *dns)
{
    /* After fork() the parent's loop must not be changed. */
    if (dns->loop.epoll >= 0) {
        dnsc_loop_detach(&dns->loop);
    }
    dnsc_lookup_cancel_all(dns);
    dnsc_fetcher_close(&dns->fetcher);
    dnsc_validator_release(dns->fetcher.validator);
    dnsc_asker_unref(dns->fetcher.asker);
    dnsc_cache_free(dns->fetcher.cache);
    dnsc_loop_free(&dns->loop);
    dnsc_file_clear(&dns->resolv_conf);
    dnsc_file_clear(&dns->hosts);
    free(dns->trust_anchor);
    free(dns->insecure);
    free(dns);
}

static int start(VmmnetDns *dns, const VmmnetDnsOptions *o,
                 const char **mistake)
{
    int error = take_options(dns, o, mistake);

    if (error) {
        return error;
    }
    dns->fetcher.loop = &dns->loop;
    dns->fetcher.counters = &dns->counters;
    dns->fetcher.stale = o->flags & VMMNET_DNS_SERVE_STALE;
    if (!(o->flags & VMMNET_DNS_NO_CACHE)) {
        dns->fetcher.cache = dnsc_cache_new(o->cache_entries ?
                                            o->cache_entries : CACHE_ENTRIES);
        if (!dns->fetcher.cache) {
            return -ENOMEM;
        }
    }
    dnsc_file_refresh(&dns->resolv_conf);
    dnsc_file_refresh(&dns->hosts);
    return apply_conf(dns, mistake);
}

static VmmnetDns *new_context(const VmmnetDnsOptions *options, bool blocking,
                              const char **mistake)
{
    VmmnetDnsOptions o = { 0 };
    const char *unused;
    VmmnetDns *dns;
    int error = 0;

    mistake = mistake ? mistake : &unused;
    *mistake = "out of memory or descriptors";
    if (options) {
        memcpy(&o, options, options->size < sizeof(o) ? options->size :
               sizeof(o));
    }
    dns = calloc(1, sizeof(*dns));
    if (!dns) {
        return NULL;
    }
    if (blocking) {
        dnsc_loop_use_poll(&dns->loop);
    } else {
        error = dnsc_loop_attach(&dns->loop);
    }
    if (error) {
        free(dns);
        errno = -error;
        return NULL;
    }
    error = start(dns, &o, mistake);
    if (error) {
        destroy(dns);
        errno = -error;
        return NULL;
    }
    return dns;
}

VmmnetDns *vmmnet_dns_new(const VmmnetDnsOptions *options,
                          const char **mistake)
{
    return new_context(options, false, mistake);
}

VmmnetDns *dnsc_context_new_blocking(const VmmnetDnsOptions *options,
                                     const char **mistake)
{
    return new_context(options, true, mistake);
}

void vmmnet_dns_free(VmmnetDns *dns)
{
    if (dns) {
        destroy(dns);
    }
}

int vmmnet_dns_fd(const VmmnetDns *dns)
{
    return dns->loop.epoll;
}

int vmmnet_dns_timeout_ms(const VmmnetDns *dns)
{
    return dnsc_loop_timeout_ms(&dns->loop);
}

void vmmnet_dns_process(VmmnetDns *dns)
{
    dnsc_loop_run(&dns->loop);
}

void vmmnet_dns_counters(const VmmnetDns *dns, VmmnetDnsCounters *counters)
{
    *counters = dns->counters;
}
