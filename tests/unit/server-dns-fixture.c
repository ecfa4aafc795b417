/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/server-dns-fixture.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Adds an AAAA record of the name in the question to a reply. */
static size_t add_aaaa(const Dns *d, uint8_t *msg, size_t used,
                       const char *address)
{
    static const uint8_t head[] = { 0xc0, 12, 0, TYPE_AAAA, 0, 1 };
    uint32_t ttl = htonl(d->ttl_s);

    msg[7]++;
    memcpy(msg + used, head, sizeof(head));
    memcpy(msg + used + 6, &ttl, sizeof(ttl));
    msg[used + 11] = 16;
    g_assert_cmpint(inet_pton(AF_INET6, address, msg + used + 12), ==, 1);
    return used + 12 + 16;
}

/* The same of an A record. */
static size_t add_a(const Dns *d, uint8_t *msg, size_t used)
{
    static const uint8_t head[] = { 0xc0, 12, 0, TYPE_A, 0, 1 };
    uint32_t ttl = htonl(d->ttl_s);

    msg[7]++;
    memcpy(msg + used, head, sizeof(head));
    memcpy(msg + used + 6, &ttl, sizeof(ttl));
    msg[used + 11] = 4;
    g_assert_cmpint(inet_pton(AF_INET, d->addr4, msg + used + 12), ==, 1);
    return used + 12 + 4;
}

void dns_send_reply(Dns *d, const uint8_t *query, ssize_t len,
                    const struct sockaddr_in6 *to)
{
    static const char ipv4only[] = "\010ipv4only\004arpa";
    const uint8_t *end = memchr(query + 12, 0, len - 12);
    bool is_nat64 = !memcmp(query + 12, ipv4only, sizeof(ipv4only));
    g_auto(GStrv) addrs = g_strsplit((is_nat64 ? d->nat64
                                      : d->addr4 ? "" : d->addr6 ?: fx_peer6)
                                     ?: "", " ", 0);
    size_t question = end + 5 - query;
    uint8_t msg[512] = { 0 };
    size_t used = question;

    memcpy(msg, query, question);
    msg[2] = 0x81;
    msg[3] = d->lame ? 0 : d->nxdomain && !is_nat64 ? 0x83 : 0x80;
    memset(msg + 6, 0, 6);
    for (size_t i = 0; msg[3] == 0x80 && end[2] == TYPE_AAAA && addrs[i];
         i++) {
        used = add_aaaa(d, msg, used, addrs[i]);
    }
    if (msg[3] == 0x80 && end[2] == TYPE_A && d->addr4) {
        used = add_a(d, msg, used);
    }
    g_assert_cmpint(sendto(d->fd, msg, used, 0, (struct sockaddr *)to,
                           sizeof(*to)), ==, used);
}

static void serve(void *opaque)
{
    Dns *d = opaque;
    socklen_t len = sizeof(d->kept_from);

    d->kept_len = recvfrom(d->fd, d->kept, sizeof(d->kept), 0,
                           (struct sockaddr *)&d->kept_from, &len);
    g_assert_cmpint(d->kept_len, >, 12 + 5);
    d->queries++;
    if (!d->silent) {
        dns_send_reply(d, d->kept, d->kept_len, &d->kept_from);
    }
}

/* The server's socket is d->fd. */
static void begin(Dns *d, const char *dns, bool nat64_auto, const char *policy)
{
    d->nat64 = "64:ff9b::192.0.0.170";
    d->ttl_s = 60;
    d->fx = fx_new(&(FxOptions) {
        .policy = policy, .dns = dns,
        .nat64_auto = nat64_auto, .max_sockets = 1024,
    });
    d->fx->extra_fd = d->fd;
    d->fx->extra = serve;
    d->fx->extra_opaque = d;
}

void dns_init_policy(Dns *d, bool nat64_auto, const char *policy)
{
    g_autofree char *dns = NULL;
    uint16_t port;

    memset(d, 0, sizeof(*d));
    d->fd = peer_socket(SOCK_DGRAM, &port);
    dns = g_strdup_printf("%s@%u", fx_peer6, port);
    begin(d, dns, nat64_auto, policy);
}

void dns_init_late(Dns *d)
{
    g_autofree char *dns = NULL;
    uint16_t port;

    memset(d, 0, sizeof(*d));
    d->fd = peer_socket(SOCK_DGRAM, &port);
    dns = g_strdup_printf("%s@%u+fe80::9%%late0", fx_peer6, port);
    begin(d, dns, false, "allow host\n");
}

void dns_init_link(Dns *d)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6,
                               .sin6_scope_id = if_nametoindex("lo") };
    socklen_t len = sizeof(at);
    g_autofree char *dns = NULL;

    memset(d, 0, sizeof(*d));
    inet_pton(AF_INET6, FX_LINK6, &at.sin6_addr);
    d->fd = socket(AF_INET6, SOCK_DGRAM, 0);
    g_assert_cmpint(bind(d->fd, (struct sockaddr *)&at, len), ==, 0);
    getsockname(d->fd, (struct sockaddr *)&at, &len);
    dns = g_strdup_printf(FX_LINK6 "%%lo@%u", ntohs(at.sin6_port));
    begin(d, dns, false, "allow host\n");
}

void dns_init(Dns *d, bool nat64_auto)
{
    dns_init_policy(d, nat64_auto, "allow host\nallow ::1\n");
}

void dns_clear(Dns *d)
{
    fx_free(d->fx);
    close(d->fd);
}
