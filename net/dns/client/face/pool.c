/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contexts for the blocking interfaces
 *
 * Some programs close all descriptors and open others with the same numbers.
 * So a context that is not in use has no descriptors, and none for its loop.
 * In a context that validates libunbound may keep some, as its connections and
 * keys are valuable.  If these are not its own when the context is next used,
 * the context is forgotten, not freed: to free it would close the program's.
 *
 * After fork() parent and child would share libunbound's connections.  So each
 * context is marked with a number that changes in the child at fork(), and the
 * child does without contexts with another number.
 *
 * /etc/vmmnet/dns.conf has the host's settings for programs that do not use
 * this library: one word on a line, see read_line().  Unknown and wrong lines
 * are ignored, as the program has nowhere to report them.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/dns/client/face/context.h"
#include "net/dns/client/face/pool.h"
#include "net/dns/wire/wire.h"

#define SETTINGS        "/etc/vmmnet/dns.conf"
#define VARIABLE        "VMMNET_NSS_VALIDATE"
#define INSECURES_MAX   64
#define KEPT            4       /* contexts that are not in use */

typedef struct Kept {
    VmmnetDns *dns;
    unsigned generation;
} Kept;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static Kept kept[KEPT];
static unsigned generation;     /* of this process */
static VmmnetDns *forgotten;    /* reachable, so that no checker counts it */

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    generation++;
    pthread_mutex_unlock(&lock);
}

static void install(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

typedef struct Settings {
    VmmnetDnsOptions options;
    char anchor[256];
    char insecure[INSECURES_MAX][DNS_NAME_TEXT_MAX];
    const char *insecures[INSECURES_MAX + 1];
    size_t count;               /* of the insecure names */
    bool is_off;                /* nothing is validated */
} Settings;

static void add_insecure(Settings *s, const char *text)
{
    DnsName name;

    if (dns_name_from_text(&name, text)) {
        return;
    }
    if (!name.labels) {
        s->is_off = true;
    } else if (s->count < INSECURES_MAX) {
        dns_name_to_text(&name, s->insecure[s->count]);
        s->insecures[s->count] = s->insecure[s->count];
        s->count++;
        s->options.insecure = s->insecures;
    }
}

static void read_line(char *line, Settings *s)
{
    VmmnetDnsOptions *o = &s->options;
    char *save, *word = strtok_r(line, " \t\n", &save);
    const char *value = word ? strtok_r(NULL, " \t\n", &save) : NULL;

    if (!word || *word == '#') {
        return;
    }
    if (!strcmp(word, "validate")) {
        o->flags |= VMMNET_DNS_VALIDATE;
    } else if (!strcmp(word, "random-case")) {
        o->flags |= VMMNET_DNS_RANDOM_CASE;
    } else if (!strcmp(word, "serve-stale")) {
        o->flags |= VMMNET_DNS_SERVE_STALE;
    } else if (!strcmp(word, "trust-anchor") && value) {
        snprintf(s->anchor, sizeof(s->anchor), "%s", value);
        o->trust_anchor = s->anchor;
    } else if (!strcmp(word, "insecure") && value) {
        add_insecure(s, value);
    }
}

/* Ignored in programs that run with more rights than their caller has. */
static void read_variable(Settings *s)
{
    const char *value = secure_getenv(VARIABLE);

    if (value && !strcmp(value, "0")) {
        s->is_off = true;
    } else if (value && !strcmp(value, "1")) {
        s->options.flags |= VMMNET_DNS_VALIDATE;
        s->is_off = false;
    }
}

static VmmnetDns *new_context(void)
{
    Settings *s = calloc(1, sizeof(*s));
    VmmnetDns *dns;
    char line[512];
    FILE *file;

    if (!s) {
        return NULL;
    }
    s->options.size = sizeof(s->options);
    file = fopen(SETTINGS, "re");
    while (file && fgets(line, sizeof(line), file)) {
        read_line(line, s);
    }
    if (file) {
        fclose(file);
    }
    read_variable(s);
    if (s->is_off) {
        s->options.flags &= ~VMMNET_DNS_VALIDATE;
    }
    dns = dnsc_context_new_blocking(&s->options, NULL);
    free(s);
    return dns;
}

static bool keeps_descriptors(const VmmnetDns *dns)
{
    return dns->flags & VMMNET_DNS_VALIDATE;
}

static bool is_whole(const VmmnetDns *dns)
{
    return !dns->fetcher.validator ||
           dnsc_validator_is_whole(dns->fetcher.validator);
}

/* Free a context, or forget it; see above. */
static void drop(VmmnetDns *dns)
{
    if (is_whole(dns)) {
        vmmnet_dns_free(dns);
        return;
    }
    pthread_mutex_lock(&lock);
    dns->next_forgotten = forgotten;
    forgotten = dns;
    pthread_mutex_unlock(&lock);
}

static void put_to_sleep(VmmnetDns *dns)
{
    if (!keeps_descriptors(dns)) {
        dnsc_fetcher_close(&dns->fetcher);
    }
}

VmmnetDns *dnsc_pool_get(void)
{
    VmmnetDns *dns = NULL, *unfit[KEPT];
    size_t i, count = 0;

    pthread_once(&once, install);
    pthread_mutex_lock(&lock);
    for (i = 0; i < KEPT; i++) {
        if (kept[i].dns && (kept[i].generation != generation ||
                            !is_whole(kept[i].dns))) {
            unfit[count++] = kept[i].dns;
            kept[i].dns = NULL;
        } else if (kept[i].dns && !dns) {
            dns = kept[i].dns;
            kept[i].dns = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    while (count) {
        drop(unfit[--count]);
    }
    return dns ? dns : new_context();
}

void dnsc_pool_put(VmmnetDns *dns)
{
    size_t i;

    put_to_sleep(dns);
    pthread_mutex_lock(&lock);
    for (i = 0; i < KEPT && dns; i++) {
        if (!kept[i].dns) {
            kept[i] = (Kept){ dns, generation };
            dns = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    vmmnet_dns_free(dns);
}

void dnsc_pool_wait(VmmnetDns *dns, const bool *done)
{
    while (!*done) {
        dnsc_loop_wait(&dns->loop);
    }
}
