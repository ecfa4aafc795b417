/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dns-lookup: print the answers of libvmmnet-dns, with their times
 *
 *     dns-lookup [-4|-6] [-b] [-v] [-a ANCHOR] [-s SERVER]... [-t TYPE] NAME
 *
 * -v validates with the trust anchors in ANCHOR, -b also prints bogus answers,
 * TYPE is a number.  Exit status: 0 if there was an answer, else 1.
 */

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <vmmnet/dns.h>

typedef struct Look {
    struct timespec began;
    bool ended, answered;
} Look;

static double milliseconds_since(const struct timespec *began)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - began->tv_sec) * 1e3 +
           (now.tv_nsec - began->tv_nsec) / 1e6;
}

static void print_address(const VmmnetDnsAddress *address)
{
    const void *octets = address->sa.sa_family == AF_INET6 ?
                         (const void *)&address->in6.sin6_addr :
                         (const void *)&address->in.sin_addr;
    char text[INET6_ADDRSTRLEN];

    printf("  %s\n", inet_ntop(address->sa.sa_family, octets, text,
                              sizeof(text)));
}

static void print_record(const VmmnetDnsRecord *record)
{
    for (size_t i = 0; i < record->len; i++) {
        printf("%s%02x", i ? "" : "  ", record->rdata[i]);
    }
    printf("\n");
}

/* The library calls this once or twice for a look-up: see answer->more */
static void told(void *opaque, const VmmnetDnsAnswer *answer)
{
    Look *look = opaque;

    look->ended = !answer->more;
    look->answered |= answer->error == VMMNET_DNS_OK;
    printf("%.1f ms: %s: %s, %s, ttl %u%s%s\n",
           milliseconds_since(&look->began), answer->canonical,
           vmmnet_dns_error_text(answer->error),
           vmmnet_dns_security_text(answer->security), answer->ttl,
           answer->stale ? ", stale" : "", answer->more ? ", more" : "");
    if (*answer->reason) {
        printf("  because: %s (%d)\n", answer->reason, answer->ede);
    }
    for (size_t i = 0; i < answer->count; i++) {
        if (answer->addresses) {
            print_address(&answer->addresses[i]);
        } else {
            print_record(&answer->records[i]);
        }
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *servers[9] = { NULL }, *mistake = NULL, *name;
    VmmnetDnsOptions options = { .size = sizeof(options) };
    int family = AF_UNSPEC, type = 0, count = 0, c;
    Look look = { .ended = false };
    unsigned flags = 0;
    VmmnetDnsId id;
    VmmnetDns *dns;

    while ((c = getopt(argc, argv, "46bva:s:t:")) != -1) {
        family = c == '4' ? AF_INET : c == '6' ? AF_INET6 : family;
        flags |= c == 'b' ? VMMNET_DNS_SHOW_BOGUS : 0;
        options.flags |= c == 'v' ? VMMNET_DNS_VALIDATE : 0;
        options.trust_anchor = c == 'a' ? optarg : options.trust_anchor;
        type = c == 't' ? atoi(optarg) : type;
        if (c == 's' && count < 8) {
            servers[count++] = optarg;
        }
    }
    options.servers = count ? servers : NULL;
    dns = vmmnet_dns_new(&options, &mistake);
    if (!dns || optind != argc - 1) {
        fprintf(stderr, "dns-lookup: %s\n", dns ? "name a NAME" : mistake);
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &look.began);
    name = argv[optind];
    id = type ? vmmnet_dns_records(dns, name, type, flags, told, &look) :
         vmmnet_dns_addresses(dns, name, family, flags, told, &look);
    if (!id) {
        perror(name);
        return 1;
    }
    while (!look.ended) {
        struct pollfd p = { .fd = vmmnet_dns_fd(dns), .events = POLLIN };

        poll(&p, 1, vmmnet_dns_timeout_ms(dns));
        vmmnet_dns_process(dns);
    }
    vmmnet_dns_free(dns);
    return !look.answered;
}
