/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State of the servers */

#include <string.h>

#include "net/dns/client/core/servers.h"
#include "base/units.h"

#define WAIT_UNKNOWN    (1 * US_PER_S)
#define WAIT_MIN        (US_PER_S / 4)
#define LEAVE_MIN       (1 * US_PER_S)
#define LEAVE_MAX       (60 * US_PER_S)
#define PROBE_MAX       (5 * US_PER_S)  /* the asker may have cancelled */

static bool same(const VmmnetDnsAddress *a, const VmmnetDnsAddress *b)
{
    return a->len == b->len && !memcmp(&a->storage, &b->storage, a->len);
}

void dnsc_servers_set(DnscServers *servers, const VmmnetDnsAddress *addrs,
                      size_t count)
{
    DnscServers before = *servers;
    size_t i, j;

    *servers = (DnscServers){ .count = count };
    for (i = 0; i < count; i++) {
        servers->server[i].addr = addrs[i];
        for (j = 0; j < before.count; j++) {
            if (same(&before.server[j].addr, &addrs[i])) {
                servers->server[i] = before.server[j];
            }
        }
    }
}

static bool is_left(const DnscServer *s, int64_t now)
{
    return s->failures && (now < s->probed_until || now < s->leave_until);
}

void dnsc_servers_order(DnscServers *servers, bool rotate, int64_t now,
                        uint8_t order[DNSC_SERVERS_MAX])
{
    size_t first = rotate && servers->count ?
                   servers->next++ % servers->count : 0;
    bool left[DNSC_SERVERS_MAX];
    size_t i, n = 0;
    int want;

    for (i = 0; i < servers->count; i++) {
        left[i] = is_left(&servers->server[i], now);
    }
    for (want = 0; want <= 1; want++) {
        for (i = 0; i < servers->count; i++) {
            size_t at = (first + i) % servers->count;

            if (left[at] == want) {
                order[n++] = at;
            }
        }
    }
    /* Only the server that is asked first is certain to be asked. */
    if (n && servers->server[order[0]].failures) {
        servers->server[order[0]].probed_until = now + PROBE_MAX;
    }
}

int64_t dnsc_server_wait(const DnscServer *server, unsigned round, int64_t max)
{
    int64_t wait = server->srtt ? server->srtt + 4 * server->rttvar :
                   WAIT_UNKNOWN;

    wait = wait < WAIT_MIN ? WAIT_MIN : wait;
    wait <<= round < 8 ? round : 8;
    return wait < max ? wait : max;
}

void dnsc_server_answered(DnscServer *server, int64_t sent, int64_t now)
{
    int64_t rtt = now > sent ? now - sent : 1;
    int64_t differ = rtt > server->srtt ? rtt - server->srtt :
                     server->srtt - rtt;

    if (server->srtt) {
        server->rttvar = (3 * server->rttvar + differ) / 4;
        server->srtt = (7 * server->srtt + rtt) / 8;
    } else {
        server->srtt = rtt;
        server->rttvar = rtt / 2;
    }
    server->answered = now;
    server->failures = 0;
    server->probed_until = 0;
}

void dnsc_server_silent(DnscServer *server, int64_t sent, int64_t now)
{
    int64_t leave;

    if (server->answered >= sent ||
        (server->failures && server->noticed > sent)) {
        return;
    }
    server->noticed = now;
    server->probed_until = 0;
    leave = LEAVE_MIN << (server->failures < 6 ? server->failures : 6);
    server->failures++;
    server->leave_until = now + (leave < LEAVE_MAX ? leave : LEAVE_MAX);
}
