/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One query on its way to one server
 */

#include <errno.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/dns/client/core/reply.h"
#include "net/dns/client/net/try.h"

#define OPT_LEN         11      /* as dns_query_build() makes it */

/* A length octet of a name is below 64, so it is no letter */
static void randomize_case(DnsName *name)
{
    uint8_t bits[DNS_NAME_MAX / 8 + 1];
    size_t i;

    if (getrandom(bits, sizeof(bits), 0) < 0) {
        return;
    }
    for (i = 0; i < name->len; i++) {
        uint8_t lower = name->wire[i] | 0x20;

        if (name->wire[i] >= 'A' && lower >= 'a' && lower <= 'z') {
            name->wire[i] = lower ^ (bits[i / 8] >> i % 8 & 1 ? 0x20 : 0);
        }
    }
}

void dnsc_try_prepare(DnscTry *t, const DnsQuestion *question,
                      bool random_case)
{
    t->source.fd = -1;
    t->question = *question;
    t->random_case = random_case;
    t->sent = dnsc_now();
    while (getrandom(&t->id, sizeof(t->id), 0) < 0 && errno == EINTR) {
        continue;
    }
    if (random_case) {
        randomize_case(&t->question.name);
    }
}

size_t dnsc_try_build(const DnscTry *t, bool ad, uint8_t msg[DNS_QUERY_MAX])
{
    size_t len = dns_query_build(msg, &t->question,
                                 DNS_FLAG_RD | (ad ? DNS_FLAG_AD : 0), false);

    dns_msg_set_id(msg, t->id);
    if (!t->edns) {
        len -= OPT_LEN;
        msg[11] = 0;            /* ARCOUNT */
    }
    return len;
}

int dnsc_try_send(DnscTry *t, DnscLoop *loop, const VmmnetDnsAddress *to,
                  const uint8_t *msg, size_t len)
{
    int ret;

    t->source.fd = socket(to->sa.sa_family,
                          SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (t->source.fd < 0) {
        return -errno;
    }
    if (connect(t->source.fd, &to->sa, to->len) ||
        send(t->source.fd, msg, len, MSG_NOSIGNAL) < 0) {
        ret = -errno;
    } else {
        ret = dnsc_loop_watch(loop, &t->source, EPOLLIN);
    }
    if (ret) {
        close(t->source.fd);
        t->source.fd = -1;
    }
    return ret;
}

void dnsc_try_close(DnscTry *t, DnscLoop *loop)
{
    if (t->source.fd >= 0) {
        dnsc_loop_forget(loop, &t->source);
        close(t->source.fd);
        t->source.fd = -1;
    }
}

bool dnsc_try_matches(const DnscTry *t, const uint8_t *msg, size_t len,
                      VmmnetDnsCounters *counters)
{
    switch (dnsc_reply_match(msg, len, t->id, &t->question, t->random_case)) {
    case DNSC_MATCH:
        return true;
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
    return false;
}
