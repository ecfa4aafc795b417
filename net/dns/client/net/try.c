/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One query to one server */

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/client/core/reply.h"
#include "net/dns/client/net/try.h"

#define OPT_LEN         11      /* as dns_query_build() makes it */

/* A service's filter of system calls may refuse getrandom(). */
static int fill_random(void *to, size_t len)
{
    ssize_t got;
    int fd;

    do {
        got = getrandom(to, len, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return -ENOSYS;
        }
        got = read(fd, to, len);
        close(fd);
    }
    return got == (ssize_t)len ? 0 : -ENOSYS;
}

/* Length octets are below 64, so they are not letters. */
static int randomize_case(DnsName *name)
{
    uint8_t bits[DNS_NAME_MAX / 8 + 1];
    size_t i;

    if (fill_random(bits, sizeof(bits))) {
        return -ENOSYS;
    }
    for (i = 0; i < name->len; i++) {
        uint8_t lower = name->wire[i] | 0x20;

        if (name->wire[i] >= 'A' && lower >= 'a' && lower <= 'z') {
            name->wire[i] = lower ^ (bits[i / 8] >> i % 8 & 1 ? 0x20 : 0);
        }
    }
    return 0;
}

int dnsc_try_prepare(DnscTry *t, const DnsQuestion *question,
                     bool random_case)
{
    t->port = NULL;
    t->question = *question;
    t->random_case = random_case;
    t->sent = dnsc_now();
    if (fill_random(&t->id, sizeof(t->id))) {
        return -ENOSYS;
    }
    return random_case ? randomize_case(&t->question.name) : 0;
}

size_t dnsc_try_build(const DnscTry *t, const DnscQuery *query,
                      uint8_t msg[DNS_QUERY_MAX])
{
    size_t len = dns_query_build(msg, &t->question, query->flags,
                                 query->dnssec_ok);

    dns_msg_set_id(msg, t->id);
    if (!t->edns) {
        len -= OPT_LEN;
        msg[11] = 0;            /* ARCOUNT */
    }
    return len;
}

int dnsc_try_send(DnscTry *t, DnscPorts *ports, const VmmnetDnsAddress *to,
                  DnscReadyFn *ready, const uint8_t *msg, size_t len)
{
    int ret = dnsc_port_get(ports, to, ready, &t->port);

    if (ret) {
        t->port = NULL;
        return ret;
    }
    t->next = t->port->tries;
    t->at = &t->port->tries;
    if (t->next) {
        t->next->at = &t->next;
    }
    t->port->tries = t;
    if (send(t->port->source.fd, msg, len, MSG_NOSIGNAL) < 0) {
        ret = -errno;
        dnsc_try_close(t);
    }
    return ret;
}

void dnsc_try_close(DnscTry *t)
{
    DnscPort *port = t->port;

    if (!port) {
        return;
    }
    *t->at = t->next;
    if (t->next) {
        t->next->at = t->at;
    }
    t->port = NULL;
    dnsc_port_put(port);
}

static DnscMatch match(const DnscTry *t, const uint8_t *msg, size_t len)
{
    return dnsc_reply_match(msg, len, t->id, &t->question, t->random_case);
}

static void count(DnscMatch why, VmmnetDnsCounters *counters)
{
    switch (why) {
    case DNSC_MATCH:
        break;
    case DNSC_MATCH_WRONG_ID:
        counters->wrong_id++;
        break;
    case DNSC_MATCH_WRONG_QUESTION:
        counters->wrong_question++;
        break;
    case DNSC_MATCH_NOT_REPLY:
        counters->not_reply++;
        break;
    }
}

bool dnsc_try_matches(const DnscTry *t, const uint8_t *msg, size_t len,
                      VmmnetDnsCounters *counters)
{
    DnscMatch why = match(t, msg, len);

    count(why, counters);
    return why == DNSC_MATCH;
}

DnscTry *dnsc_try_of(const DnscPort *port, const uint8_t *msg, size_t len,
                     VmmnetDnsCounters *counters)
{
    DnscMatch why = DNSC_MATCH_NOT_REPLY;
    DnscTry *t;

    for (t = port->tries; t; t = t->next) {
        DnscMatch now = match(t, msg, len);

        if (now == DNSC_MATCH) {
            return t;
        }
        /* The order of the reasons is how much was right. */
        why = now > why ? now : why;
    }
    count(why, counters);
    return NULL;
}
