/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries, passed to the threads of the resolver and returned */
#include <stdlib.h>
#include <string.h>

#include "dnsd/server/serve/serve.h"
#include "dnsd/server/workers/resolvers.h"
#include "net/packet/siphash.h"

static DnsdRequests *queue_of(const DnsdResolvers *resolvers,
                              const DnsdRequest *request)
{
    const ZoneKey *name = &request->query.name;

    return &resolvers->queue[siphash_1_3(resolvers->key, name->wire,
                                         name->len) % resolvers->count];
}

unsigned dnsd_resolvers_ask(DnsdWorker *w, DnsdRequest *request)
{
    const DnsdResolverConfig *c = &w->serving->config->resolver;
    DnsdTallyVerdict verdict = dnsd_tally_enter(
        w->resolvers->tally, &request->client.addr, c->queries_max,
        c->per_client);

    if (verdict != DNSD_TALLY_IN) {
        return verdict == DNSD_TALLY_FULL ? DNSD_DROP_RESOLVER_FULL
                                          : DNSD_DROP_RESOLVER_CLIENT;
    }
    request->home = &w->returned;
    request->asked_of = w->serving->generation;
    dnsd_requests_put(queue_of(w->resolvers, request), request, false);
    return 0;
}

static void set_client(DnsdWorker *w, const DnsdRequest *request)
{
    w->client.addr = request->client.addr;
    w->client.is_stream = request->client.is_stream;
}

/* There is no answer if memory was short; then there is no reply. */
static size_t reply_to(DnsdWorker *w, DnsdRequest *r, uint8_t *out,
                       size_t room)
{
    size_t len;

    set_client(w, r);
    if (!r->resolved ||
        dnsd_serve_resolved(w->serving, &w->thread, &w->client, &r->query,
                            r->resolved, r->asked_of, out, room,
                            &len) != DNSD_REPLY) {
        return 0;
    }
    return len;
}

static void reply_datagram(DnsdWorker *w, DnsdRequest *r)
{
    uint8_t out[DNSD_UDP_MAX];

    dnsd_request_reply(r, out, reply_to(w, r, out, sizeof(out)));
}

bool dnsd_resolvers_back(DnsdWorker *w, DnsdRequest *r)
{
    if (!r->client.is_stream) {
        reply_datagram(w, r);
        return false;
    }
    r->reply = malloc(DNS_MSG_MAX);
    r->reply_len = r->reply ? reply_to(w, r, r->reply, DNS_MSG_MAX) : 0;
    return true;
}
