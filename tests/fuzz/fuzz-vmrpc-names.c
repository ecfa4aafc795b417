/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers noted and names used, against a naive table that keeps all in
 * arrays and searches them
 *
 * The first byte is the size of the table.  Then come operations of six
 * bytes: what, a name or an address, one unused, the first address, how many
 * addresses, TTL or time.
 */
#include <string.h>

#include "hw/vmrpc/reach/names.h"

#define MAX_TABLE 5
#define ADDRESSES 40            /* more than one name can have */
#define OP_SIZE 6
#define MAX_OPS 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct ModelAddr {
    unsigned id;
    int64_t until;
    uint64_t given;             /* count of all that were given */
} ModelAddr;

typedef struct ModelName {
    unsigned id;
    int64_t until;
    uint64_t recent;            /* count of all that were asked or used */
    unsigned addr_num;
    ModelAddr addrs[VMRPC_NAMES_MAX_ADDRESSES];
} ModelName;

/*
 * If several names expire at the same time, any of them may be removed: choices
 * selects them, as digits, and radix becomes the number of combinations.
 */
typedef struct Model {
    unsigned size, num;
    ModelName names[MAX_TABLE];
    uint64_t clock;
    uint64_t created, reclaimed, evicted;
    unsigned choices, radix;
} Model;

static struct in6_addr addr_of(unsigned id)
{
    return (struct in6_addr) { .s6_addr = { 0x20, 0x01, [15] = id } };
}

/* Sixteen names, in either case */
static DnsName name_of(uint8_t byte)
{
    char letter = (byte & 0x10 ? 'A' : 'a') + (byte & 0xf);

    return (DnsName) { .len = 4, .labels = 1, .wire = { 2, 'n', letter, 0 } };
}

/* --- the model ----------------------------------------------------------- */

static ModelName *model_find(Model *m, unsigned id)
{
    for (unsigned i = 0; i < m->num; i++) {
        if (m->names[i].id == id) {
            return &m->names[i];
        }
    }
    return NULL;
}

static ModelName *model_victim(Model *m, int64_t now_ms)
{
    ModelName *first = &m->names[0], *oldest = &m->names[0];
    ModelName *over[MAX_TABLE];
    unsigned num = 0, choice;

    for (unsigned i = 0; i < m->num; i++) {
        first = m->names[i].until < first->until ? &m->names[i] : first;
        oldest = m->names[i].recent < oldest->recent ? &m->names[i] : oldest;
    }
    if (first->until > now_ms) {
        m->evicted++;
        return oldest;
    }
    for (unsigned i = 0; i < m->num; i++) {
        if (m->names[i].until == first->until) {
            over[num++] = &m->names[i];
        }
    }
    choice = m->choices / m->radix % num;
    m->radix *= num;
    m->reclaimed++;
    return over[choice];
}

static ModelName *model_add(Model *m, unsigned id, int64_t now_ms)
{
    ModelName *name = m->num < m->size ? &m->names[m->num++]
                                       : model_victim(m, now_ms);

    *name = (ModelName) { .id = id, .until = INT64_MIN };
    m->created++;
    return name;
}

/* Moves the address to the front of an array, which may drop its last one. */
static void model_give(Model *m, ModelName *name, unsigned id, int64_t until)
{
    unsigned at = 0;

    while (at < name->addr_num && name->addrs[at].id != id) {
        at++;
    }
    if (at < name->addr_num) {
        until = MAX(until, name->addrs[at].until);
    } else if (at < VMRPC_NAMES_MAX_ADDRESSES) {
        name->addr_num++;
    } else {
        at--;
    }
    memmove(name->addrs + 1, name->addrs, at * sizeof(*name->addrs));
    name->addrs[0] = (ModelAddr) { id, until, ++m->clock };
}

static void model_note(Model *m, unsigned id, const VmrpcNameAddr *addrs,
                       unsigned addr_num, int64_t now_ms)
{
    ModelName *name = model_find(m, id);

    if (!addr_num) {
        return;
    }
    if (!name) {
        name = model_add(m, id, now_ms);
    }
    for (unsigned i = addr_num; i-- > 0;) {
        uint32_t ttl_s = CLAMP(addrs[i].ttl_s, VMRPC_NAMES_MIN_TTL_S,
                               VMRPC_NAMES_MAX_TTL_S);
        int64_t until = now_ms + 1000LL * ttl_s;

        model_give(m, name, addrs[i].addr6.s6_addr[15], until);
        name->until = MAX(name->until, until);
    }
    name->recent = ++m->clock;
}

static const ModelAddr *model_has(const ModelName *name, unsigned addr)
{
    for (unsigned i = 0; i < name->addr_num; i++) {
        if (name->addrs[i].id == addr) {
            return &name->addrs[i];
        }
    }
    return NULL;
}

/* The names of an address, the most recent first. */
static unsigned model_lookup(Model *m, unsigned addr, ModelName **found)
{
    unsigned num = 0;

    for (unsigned i = 0; i < m->num; i++) {
        const ModelAddr *has = model_has(&m->names[i], addr);
        unsigned at = num;

        if (!has) {
            continue;
        }
        while (at > 0 && model_has(found[at - 1], addr)->given < has->given) {
            found[at] = found[at - 1];
            at--;
        }
        found[at] = &m->names[i];
        num++;
    }
    return num;
}

/* --- comparison ---------------------------------------------------------- */

static bool same_name(const VmrpcNameFound *found, const ModelName *name)
{
    const DnsName expected = name_of(name->id);

    return found->name->len == expected.len &&
           !memcmp(found->name->wire, expected.wire, expected.len);
}

static bool same_siblings(const VmrpcNames *names,
                          const VmrpcNameFound *found, const ModelName *name,
                          int64_t now_ms)
{
    struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES];
    size_t num = vmrpc_names_siblings(names, found, now_ms, addrs), i = 0;

    for (unsigned k = 0; k < name->addr_num; k++) {
        if (name->addrs[k].until > now_ms &&
            (i == num || addrs[i++].s6_addr[15] != name->addrs[k].id)) {
            return false;
        }
    }
    return i == num;
}

static bool same(const VmrpcNames *names, Model *m, int64_t now_ms)
{
    VmrpcNamesStats stats;
    unsigned addresses = 0;

    for (unsigned addr = 0; addr < ADDRESSES; addr++) {
        struct in6_addr addr6 = addr_of(addr);
        ModelName *expected[MAX_TABLE];
        VmrpcNameFound found[MAX_TABLE + 1];
        unsigned num = model_lookup(m, addr, expected);

        if (vmrpc_names_lookup(names, &addr6, found, MAX_TABLE + 1) != num) {
            return false;
        }
        for (unsigned i = 0; i < num; i++) {
            /* Siblings once a name are enough */
            if (!same_name(&found[i], expected[i]) ||
                (expected[i]->addrs[0].id == addr &&
                 !same_siblings(names, &found[i], expected[i], now_ms))) {
                return false;
            }
        }
        addresses += num > 0;
    }
    vmrpc_names_stats(names, &stats);
    return stats.names == m->num && stats.addresses == addresses &&
           stats.created == m->created && stats.reclaimed == m->reclaimed &&
           stats.evicted == m->evicted;
}

/* --- operations ---------------------------------------------------------- */

static void do_note(VmrpcNames *names, Model *m, const uint8_t *op,
                    int64_t now_ms)
{
    unsigned addr_num = op[4] % (VMRPC_NAMES_MAX_ADDRESSES + 4);
    unsigned stride = op[4] >> 6 | 1;
    VmrpcNameAddr addrs[VMRPC_NAMES_MAX_ADDRESSES + 4];
    DnsName name = name_of(op[1]);
    Model before = *m;

    for (unsigned i = 0; i < addr_num; i++) {
        addrs[i].addr6 = addr_of((op[3] + i * stride) % ADDRESSES);
        addrs[i].ttl_s = op[5] * (i + 1) * 4;
    }
    vmrpc_names_note(names, &name, addrs, addr_num, now_ms);
    for (unsigned choices = 0, all = 1; choices < all; choices++) {
        *m = before;
        m->choices = choices;
        m->radix = 1;
        model_note(m, op[1] & 0xf, addrs, addr_num, now_ms);
        if (same(names, m, now_ms)) {
            return;
        }
        all = MAX(all, m->radix);
    }
    g_assert_not_reached();
}

static void do_use(VmrpcNames *names, Model *m, const uint8_t *op,
                   int64_t now_ms)
{
    unsigned addr = op[1] % ADDRESSES;
    struct in6_addr addr6 = addr_of(addr);
    ModelName *expected[MAX_TABLE];
    VmrpcNameFound found[MAX_TABLE];
    size_t num = vmrpc_names_lookup(names, &addr6, found, MAX_TABLE);
    unsigned i;

    g_assert(model_lookup(m, addr, expected) == num);
    if (num) {
        i = op[2] % num;
        vmrpc_names_use(names, &found[i], now_ms);
        expected[i]->until = MAX(expected[i]->until, now_ms);
        expected[i]->recent = ++m->clock;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(VmrpcNames) names = NULL;
    Model model = { .size = size ? 1 + data[0] % MAX_TABLE : 1 };
    int64_t now_ms = 0;

    names = vmrpc_names_new(model.size, NULL);
    for (size_t i = 1; i + OP_SIZE <= size && i < MAX_OPS * OP_SIZE;
         i += OP_SIZE) {
        const uint8_t *op = data + i;

        switch (op[0] % 4) {
        case 0:
        case 1:
            do_note(names, &model, op, now_ms);
            break;
        case 2:
            do_use(names, &model, op, now_ms);
            break;
        default:
            now_ms += 1000LL * (op[1] | (op[2] & 0xf) << 8);
            break;
        }
    }
    g_assert(same(names, &model, now_ms));
    return 0;
}
