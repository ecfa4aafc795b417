/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the DNS answers for a name lead on: aliases and targets of services
 *
 * Theory of operation
 * ===================
 *
 * A ring of pairs: a new one replaces the oldest one.  A pair is found by the
 * keyed hash of its first name, of 64 bits, which stands for that name: guest
 * and network know no key, so they cannot make two names alike.  Answers are
 * hostile; a walk visits a few names, each once, and ends.
 */
#include "hw/vmrpc/reach/targets.h"

#include <glib.h>
#include <string.h>
#include <sys/random.h>

#include "net/packet/siphash.h"

#define CHAINS  1024            /* a power of two */

typedef struct Pair {
    uint64_t from;              /* hash of the name */
    uint32_t next;              /* in the chain; 0: the end */
    DnsName to;                 /* lower case */
} Pair;

struct VmrpcTargets {
    uint64_t key[2];
    uint32_t used;              /* pairs that were ever used */
    uint32_t oldest;            /* the next one to be replaced, once all are */
    uint32_t chains[CHAINS];
    Pair pairs[VMRPC_TARGETS_MAX + 1];          /* from 1 */
};

VmrpcTargets *vmrpc_targets_new(void)
{
    VmrpcTargets *t = g_try_new0(VmrpcTargets, 1);

    if (t && getrandom(t->key, sizeof(t->key), 0) != sizeof(t->key)) {
        g_clear_pointer(&t, g_free);
    }
    return t;
}

void vmrpc_targets_free(VmrpcTargets *targets)
{
    g_free(targets);
}

static void lower(DnsName *to, const uint8_t *wire, size_t len)
{
    to->len = len;
    for (size_t i = 0; i < len; i++) {
        to->wire[i] = g_ascii_tolower(wire[i]);
    }
}

static uint64_t hash(const VmrpcTargets *t, const DnsName *name)
{
    return siphash_1_3(t->key, name->wire, name->len);
}

static bool is_same(const DnsName *a, const DnsName *b)
{
    return a->len == b->len && !memcmp(a->wire, b->wire, a->len);
}

static bool has_pair(const VmrpcTargets *t, uint64_t from, const DnsName *to)
{
    uint32_t i;

    for (i = t->chains[from % CHAINS]; i; i = t->pairs[i].next) {
        if (t->pairs[i].from == from && is_same(&t->pairs[i].to, to)) {
            return true;
        }
    }
    return false;
}

static void unchain(VmrpcTargets *t, uint32_t pair)
{
    uint32_t *link = &t->chains[t->pairs[pair].from % CHAINS];

    while (*link != pair) {
        link = &t->pairs[*link].next;
    }
    *link = t->pairs[pair].next;
}

void vmrpc_targets_note(VmrpcTargets *t, const DnsName *name,
                        const DnsName *target)
{
    size_t skip = 0;
    DnsName from, to;
    uint64_t key;
    uint32_t pair;

    while (name->wire[skip] && name->wire[skip + 1] == '_') {
        skip += 1 + name->wire[skip];
    }
    lower(&from, name->wire + skip, name->len - skip);
    lower(&to, target->wire, target->len);
    to.labels = target->labels;
    key = hash(t, &from);
    if (to.len <= 1 || is_same(&from, &to) || has_pair(t, key, &to)) {
        return;
    }
    if (t->used < VMRPC_TARGETS_MAX) {
        pair = ++t->used;
    } else {
        pair = 1 + t->oldest++ % VMRPC_TARGETS_MAX;
        unchain(t, pair);
    }
    t->pairs[pair] = (Pair) { .from = key, .to = to,
                              .next = t->chains[key % CHAINS] };
    t->chains[key % CHAINS] = pair;
}

static bool is_visited(const DnsName *const *found, size_t num,
                       const DnsName *name)
{
    for (size_t i = 0; i < num; i++) {
        if (is_same(found[i], name)) {
            return true;
        }
    }
    return false;
}

size_t vmrpc_targets_walk(const VmrpcTargets *t, const DnsName *name,
                          const DnsName *found[VMRPC_TARGETS_VISITS])
{
    uint8_t depth[VMRPC_TARGETS_VISITS];
    size_t num = 0, visit = 0;
    unsigned far = 0;
    DnsName first;
    uint64_t from;

    if (!t) {
        return 0;
    }
    lower(&first, name->wire, name->len);
    from = hash(t, &first);
    for (;;) {
        uint32_t i = far < VMRPC_TARGETS_DEPTH ? t->chains[from % CHAINS] : 0;

        for (; i && num < VMRPC_TARGETS_VISITS; i = t->pairs[i].next) {
            const Pair *pair = &t->pairs[i];

            if (pair->from == from && !is_same(&pair->to, &first) &&
                !is_visited(found, num, &pair->to)) {
                depth[num] = far + 1;
                found[num++] = &pair->to;
            }
        }
        if (visit == num) {
            return num;
        }
        from = hash(t, found[visit]);
        far = depth[visit++];
    }
}
