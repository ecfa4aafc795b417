/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Milliseconds until a program has an address for a name
 *
 *     first c-ares|glibc|ours|unbound NAME
 *
 * The server is that of /etc/resolv.conf.  c-ares and glibc return addresses
 * when they have all, our library returns the first usable one; libunbound has
 * a callback for each question.  "none" follows the time if there is no
 * address.
 */
#include <ares.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unbound.h>

#include <vmmnet/dns.h>

typedef struct Found {
    bool ended, some;
    unsigned asked;             /* questions without an answer */
} Found;

enum {
    CLASS_IN = 1,
    TYPE_A = 1,
    TYPE_AAAA = 28,
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void ares_told(void *opaque, int status, int timeouts,
                      struct ares_addrinfo *result)
{
    Found *found = opaque;

    found->ended = true;
    found->some = status == ARES_SUCCESS && result && result->nodes;
    ares_freeaddrinfo(result);
}

static bool ask_ares(const char *name)
{
    struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC };
    Found found = { .ended = false };
    ares_channel channel;

    if (ares_library_init(ARES_LIB_INIT_ALL) || ares_init(&channel)) {
        fprintf(stderr, "first: c-ares cannot begin\n");
        exit(1);
    }
    ares_getaddrinfo(channel, name, NULL, &hints, ares_told, &found);
    while (!found.ended) {
        struct timeval tv, *wait;
        fd_set in, out;
        int count;

        FD_ZERO(&in);
        FD_ZERO(&out);
        count = ares_fds(channel, &in, &out);
        wait = ares_timeout(channel, NULL, &tv);
        if (select(count, &in, &out, NULL, wait) < 0) {
            perror("select");
            exit(1);
        }
        ares_process(channel, &in, &out);
    }
    return found.some;
}

static bool ask_glibc(const char *name)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *result;

    return !getaddrinfo(name, NULL, &hints, &result) && result;
}

static void ours_told(void *opaque, const VmmnetDnsAnswer *answer)
{
    Found *found = opaque;

    found->some = answer->error == VMMNET_DNS_OK;
    found->ended = found->some || !answer->more;
}

static bool ask_ours(const char *name)
{
    VmmnetDnsOptions options = { .size = sizeof(options) };
    Found found = { .ended = false };
    const char *mistake;
    VmmnetDns *dns = vmmnet_dns_new(&options, &mistake);

    if (!dns ||
        !vmmnet_dns_addresses(dns, name, AF_UNSPEC, 0, ours_told, &found)) {
        fprintf(stderr, "first: our library cannot begin\n");
        exit(1);
    }
    while (!found.ended) {
        struct pollfd p = { .fd = vmmnet_dns_fd(dns), .events = POLLIN };

        poll(&p, 1, vmmnet_dns_timeout_ms(dns));
        vmmnet_dns_process(dns);
    }
    return found.some;
}

static void unbound_told(void *opaque, int error, struct ub_result *result)
{
    Found *found = opaque;

    found->some |= !error && result->havedata;
    found->asked--;
    found->ended = found->some || !found->asked;
    ub_resolve_free(result);
}

/* A stub resolver: it uses the server of resolv.conf, also on this host. */
static bool ask_unbound(const char *name)
{
    Found found = { .asked = 2 };
    struct ub_ctx *ctx = ub_ctx_create();

    if (!ctx || ub_ctx_set_option(ctx, "do-not-query-localhost:", "no") ||
        ub_ctx_resolvconf(ctx, NULL) || ub_ctx_async(ctx, 1) ||
        ub_resolve_async(ctx, name, TYPE_AAAA, CLASS_IN, &found,
                         unbound_told, NULL) ||
        ub_resolve_async(ctx, name, TYPE_A, CLASS_IN, &found, unbound_told,
                         NULL)) {
        fprintf(stderr, "first: libunbound cannot begin\n");
        exit(1);
    }
    while (!found.ended) {
        struct pollfd p = { .fd = ub_fd(ctx), .events = POLLIN };

        poll(&p, 1, -1);
        ub_process(ctx);
    }
    return found.some;
}

int main(int argc, char **argv)
{
    const char *how = argc == 3 ? argv[1] : "";
    bool (*ask)(const char *name) = !strcmp(how, "c-ares") ? ask_ares
                                    : !strcmp(how, "glibc") ? ask_glibc
                                    : !strcmp(how, "unbound") ? ask_unbound
                                    : !strcmp(how, "ours") ? ask_ours : NULL;
    double began;
    bool some;

    if (!ask) {
        fprintf(stderr, "usage: first c-ares|glibc|ours|unbound NAME\n");
        return 2;
    }
    began = now_ms();
    some = ask(argv[2]);
    printf("%.3f%s\n", now_ms() - began, some ? "" : " none");
    return 0;
}
