/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmrpc server: the latest refusals, which the guest may read
 *
 * An errno does not say which rule or limit it comes from.  So the guest's
 * programs can ask for the reason of what they met.  A ring, in the form of the
 * wire but for the time, is all that is kept; the guest reads one at a time.
 */
#include "hw/vmrpc/server/refusals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/sock/timer.h"

G_STATIC_ASSERT(sizeof(struct vmrpc_refusal) == 328);

static struct vmrpc_refusal *at(VmrpcServer *srv, uint64_t number)
{
    return &srv->refusals[number % VMRPC_REFUSALS];
}

static void put_address(struct vmrpc_refusal *r, const char *text)
{
    if (inet_pton(AF_INET6, text, r->addr) != 1) {
        r->addr[10] = r->addr[11] = 0xff;
        inet_pton(AF_INET, text, &r->addr[12]);
    }
}

void vmrpc_refusals_note(VmrpcServer *srv, const VmrpcRefusal *refusal,
                         const VmrpcSock *s)
{
    struct vmrpc_refusal *r = at(srv, ++srv->refusal_num);

    *r = (struct vmrpc_refusal) {
        .number = GUINT64_TO_LE(srv->refusal_num),
        .ago_ms = vmrpc_now_ms(),       /* the time, until it is read */
        .port = htons(refusal->port),
        .protocol = s ? s->proto : 0,
        .error = GUINT32_TO_LE(refusal->error),
    };
    if (refusal->dest) {
        put_address(r, refusal->dest);
    }
    g_strlcpy(r->reason, refusal->reason, sizeof(r->reason));
    g_strlcpy(r->name, refusal->name ?: "", sizeof(r->name));
}

void vmrpc_refusals_clear(VmrpcServer *srv)
{
    srv->refusal_num = 0;
}

int vmrpc_call_refused(VmrpcServer *srv, VmrpcCall *call)
{
    uint64_t first = srv->refusal_num < VMRPC_REFUSALS
                     ? 1 : srv->refusal_num - VMRPC_REFUSALS + 1;
    uint64_t from = call->arg[0] | (uint64_t)call->arg[1] << 32;
    uint64_t number = MAX(from, first);
    struct vmrpc_refusal r;

    if (call->in_len < sizeof(r)) {
        return -EINVAL;
    }
    if (number > srv->refusal_num) {
        return -ENOENT;
    }
    r = *at(srv, number);
    r.ago_ms = GUINT64_TO_LE(vmrpc_now_ms() - r.ago_ms);
    call->in_data_len = vmrpc_call_write(call, 0, &r, sizeof(r));
    return 0;
}
