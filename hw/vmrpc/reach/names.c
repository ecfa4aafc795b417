/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that the guest has looked up: from an address back to its names
 *
 * Theory of operation
 *
 * The policy asks which names led to a destination; Happy Eyeballs asks which
 * other addresses such a name has.  So names and addresses are two hash
 * tables, and a link joins a name to an address that an answer gave it:
 *
 *   Name "www.example.org" --- links[0] --+
 *                          \-- links[1] --|--+
 *   Name "example.org"     --- links[0] --+  +-- Address 2001:db8::2
 *                                         +----- Address 2001:db8::1
 *
 * The links of a name are an array in it, with the order of the answers beside
 * them; the links of an address are a list, the latest answer first.  There
 * are as many addresses as links, so vmrpc_names_note() never fails.
 *
 * Names are compared octet by octet in wire format, in lower case (RFC 4343).
 * Their text would be ambiguous: a label may contain a dot.  Length octets are
 * below 'A', so lowering the whole name does not change them.  The keys of
 * both tables come from the guest and the network, hence the keyed hash.
 *
 * The table has only names that the guest asked for, not the targets of
 * aliases (CNAME).  The owner of an alias may have written the whole answer: a
 * recursive server asks the owner of the target, but the device cannot know
 * that there is one.  So an address gets to a name by an answer to a question
 * for that name and in no other way, and rules that allow can rely on it.
 * Rules that deny get no more than a hint: the guest's owner can give any
 * address a name of his own.
 *
 * When the table is full, a new name replaces an old one.  The first choice is
 * the name whose TTL, or last use after it, ended first (a binary heap by that
 * time).  If all names are within their TTL, it is the one that was asked or
 * used least recently (a list).  With the list alone, a program that asks for
 * many names would evict a name that another program caches for its long TTL;
 * with the heap alone, names with long TTLs would fill the table.
 *
 * Limits: a guest that asks for more names within their TTLs than the table
 * can hold evicts its own.  Nothing is allocated after creation.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "hw/vmrpc/reach/names.h"
#include "net/packet/siphash.h"

/* 0 ends lists and chains: names, addresses and links count from 1. */

typedef struct Link {
    int64_t until;              /* end of the TTL */
    uint32_t address;
    uint32_t prev, next;        /* links of the address */
} Link;

typedef struct Name {
    int64_t until;              /* end of the last TTL, or the last use */
    uint32_t place;             /* in the heap, from 1 */
    uint32_t older, newer;      /* names, by when they were asked or used */
    uint32_t next;              /* in the chain of the hash */
    uint8_t link_num;
    uint8_t order[VMRPC_NAMES_MAX_ADDRESSES];   /* links, first one first */
    DnsName name;               /* lower case */
    Link links[VMRPC_NAMES_MAX_ADDRESSES];
} Name;

typedef struct Address {
    struct in6_addr addr6;
    uint32_t first;             /* link */
    uint32_t next;              /* in the chain of the hash, or free */
} Address;

struct VmrpcNames {
    /* constant after creation */
    uint32_t size;
    uint32_t chain_mask;
    uint64_t key[2];

    Name *names;                /* [size + 1], from 1; 0 heads the list */
    uint32_t *heap;             /* [size + 1], by Name.until, from 1 */
    uint32_t *name_chains;      /* [chain_mask + 1] */
    Address *addresses;         /* [size * MAX_ADDRESSES + 1], from 1 */
    uint32_t *address_chains;   /* [chain_mask + 1] */
    uint32_t free_address;      /* first of those that are free again */
    uint32_t fresh_address;     /* from here on, none was ever used */
    uint32_t used;              /* names; each is in heap, list and hash */
    VmrpcNamesStats stats;
};

GQuark vmrpc_names_error_quark(void)
{
    return g_quark_from_static_string("vmrpc-names-error");
}

/* The heap: the name that ends first is at 1. */

static void heap_put(VmrpcNames *t, uint32_t place, uint32_t n)
{
    t->heap[place] = n;
    t->names[n].place = place;
}

static bool ends_before(const VmrpcNames *t, uint32_t a, uint32_t b)
{
    return t->names[a].until < t->names[b].until;
}

static void heap_up(VmrpcNames *t, uint32_t place, uint32_t n)
{
    while (place > 1 && ends_before(t, n, t->heap[place / 2])) {
        heap_put(t, place, t->heap[place / 2]);
        place /= 2;
    }
    heap_put(t, place, n);
}

static void heap_down(VmrpcNames *t, uint32_t place, uint32_t n)
{
    for (;;) {
        uint32_t child = place * 2;

        if (child > t->used) {
            break;
        }
        if (child < t->used &&
            ends_before(t, t->heap[child + 1], t->heap[child])) {
            child++;
        }
        if (!ends_before(t, t->heap[child], n)) {
            break;
        }
        heap_put(t, place, t->heap[child]);
        place = child;
    }
    heap_put(t, place, n);
}

/* The list: a ring from names[0] to older and older names, and back to it */

static void list_remove(VmrpcNames *t, uint32_t n)
{
    const Name *name = &t->names[n];

    t->names[name->newer].older = name->older;
    t->names[name->older].newer = name->newer;
}

static void list_add_newest(VmrpcNames *t, uint32_t n)
{
    uint32_t second = t->names[0].older;

    t->names[n].newer = 0;
    t->names[n].older = second;
    t->names[second].newer = n;
    t->names[0].older = n;
}

/* The hash of addresses */

static uint32_t *address_chain(const VmrpcNames *t,
                               const struct in6_addr *addr6)
{
    uint64_t hash = siphash_1_3(t->key, addr6, sizeof(*addr6));

    return &t->address_chains[hash & t->chain_mask];
}

/* The number of @addr6; 0: no name leads to it */
static uint32_t find_address(const VmrpcNames *t,
                             const struct in6_addr *addr6)
{
    uint32_t a = *address_chain(t, addr6);

    while (a && memcmp(&t->addresses[a].addr6, addr6, sizeof(*addr6))) {
        a = t->addresses[a].next;
    }
    return a;
}

static uint32_t add_address(VmrpcNames *t, const struct in6_addr *addr6)
{
    uint32_t *chain = address_chain(t, addr6);
    uint32_t a = t->free_address;

    if (a) {
        t->free_address = t->addresses[a].next;
    } else {
        a = t->fresh_address++;
    }
    t->addresses[a].addr6 = *addr6;
    t->addresses[a].first = 0;
    t->addresses[a].next = *chain;
    *chain = a;
    t->stats.addresses++;
    return a;
}

static void remove_address(VmrpcNames *t, uint32_t a)
{
    uint32_t *link = address_chain(t, &t->addresses[a].addr6);

    while (*link != a) {
        link = &t->addresses[*link].next;
    }
    *link = t->addresses[a].next;
    t->addresses[a].next = t->free_address;
    t->free_address = a;
    t->stats.addresses--;
}

/* Links: name 1 has the numbers from VMRPC_NAMES_MAX_ADDRESSES on. */

static Link *link_at(const VmrpcNames *t, uint32_t number)
{
    return &t->names[number / VMRPC_NAMES_MAX_ADDRESSES]
            .links[number % VMRPC_NAMES_MAX_ADDRESSES];
}

/* Makes a link the first one of its address. */
static void attach(VmrpcNames *t, uint32_t number)
{
    Link *link = link_at(t, number);
    Address *address = &t->addresses[link->address];

    link->prev = 0;
    link->next = address->first;
    if (link->next) {
        link_at(t, link->next)->prev = number;
    }
    address->first = number;
}

static void detach(VmrpcNames *t, uint32_t number)
{
    const Link *link = link_at(t, number);

    if (link->prev) {
        link_at(t, link->prev)->next = link->next;
    } else {
        t->addresses[link->address].first = link->next;
    }
    if (link->next) {
        link_at(t, link->next)->prev = link->prev;
    }
}

/* Removes a link from its address, and frees the address with its last one. */
static void drop(VmrpcNames *t, uint32_t number)
{
    uint32_t a = link_at(t, number)->address;

    detach(t, number);
    if (!t->addresses[a].first) {
        remove_address(t, a);
    }
}

/* The index in Name.order of address @a; link_num if the name has it not. */
static unsigned position_of(const Name *name, uint32_t a)
{
    unsigned position = 0;

    while (position < name->link_num &&
           name->links[name->order[position]].address != a) {
        position++;
    }
    return position;
}

/* Makes @addr the first address of the name, and the name its first name. */
static void give(VmrpcNames *t, uint32_t n, const VmrpcNameAddr *addr,
                 int64_t until)
{
    Name *name = &t->names[n];
    uint32_t base = n * VMRPC_NAMES_MAX_ADDRESSES;
    uint32_t a = find_address(t, &addr->addr6);
    unsigned position = position_of(name, a);
    unsigned slot;

    if (position < name->link_num) {
        slot = name->order[position];
        detach(t, base + slot);
        until = MAX(until, name->links[slot].until);
    } else if (name->link_num < VMRPC_NAMES_MAX_ADDRESSES) {
        slot = name->link_num++;
    } else {
        slot = name->order[--position];
        drop(t, base + slot);
    }
    name->links[slot].address = a ? a : add_address(t, &addr->addr6);
    name->links[slot].until = until;
    attach(t, base + slot);
    memmove(name->order + 1, name->order, position);
    name->order[0] = slot;
}

/* The hash of names */

static void lower(DnsName *to, const DnsName *from)
{
    size_t i;

    to->len = from->len;
    to->labels = from->labels;
    for (i = 0; i < from->len; i++) {
        to->wire[i] = g_ascii_tolower(from->wire[i]);
    }
}

static uint32_t *name_chain(const VmrpcNames *t, const DnsName *name)
{
    uint64_t hash = siphash_1_3(t->key, name->wire, name->len);

    return &t->name_chains[hash & t->chain_mask];
}

/* The number of @name, which is in lower case; 0: it is not in the table */
static uint32_t find_name(const VmrpcNames *t, const DnsName *name)
{
    uint32_t n;

    for (n = *name_chain(t, name); n; n = t->names[n].next) {
        const Name *it = &t->names[n];

        if (it->name.len == name->len &&
            !memcmp(it->name.wire, name->wire, name->len)) {
            break;
        }
    }
    return n;
}

static void unchain_name(VmrpcNames *t, uint32_t n)
{
    uint32_t *link = name_chain(t, &t->names[n].name);

    while (*link != n) {
        link = &t->names[*link].next;
    }
    *link = t->names[n].next;
}

/*
 * Empties the name that is to be replaced; it stays in heap and list.  The
 * table is full.
 */
static uint32_t reclaim(VmrpcNames *t, int64_t now_ms)
{
    uint32_t n = t->heap[1];
    unsigned slot;

    if (t->names[n].until <= now_ms) {
        t->stats.reclaimed++;
    } else {
        n = t->names[0].newer;
        t->stats.evicted++;
    }
    for (slot = 0; slot < t->names[n].link_num; slot++) {
        drop(t, n * VMRPC_NAMES_MAX_ADDRESSES + slot);
    }
    unchain_name(t, n);
    return n;
}

/* Makes a name without addresses, whose TTL is over. */
static uint32_t add_name(VmrpcNames *t, const DnsName *lowered,
                         int64_t now_ms)
{
    uint32_t *chain = name_chain(t, lowered);
    uint32_t n;

    if (t->used < t->size) {
        n = ++t->used;
        t->names[n].place = n;
        list_add_newest(t, n);
    } else {
        n = reclaim(t, now_ms);
    }
    t->names[n].name = *lowered;
    t->names[n].link_num = 0;
    t->names[n].until = INT64_MIN;
    t->names[n].next = *chain;
    *chain = n;
    heap_up(t, t->names[n].place, n);
    t->stats.created++;
    return n;
}

/* The name was asked or used; its time ends at @until or later. */
static void refresh(VmrpcNames *t, uint32_t n, int64_t until)
{
    list_remove(t, n);
    list_add_newest(t, n);
    if (until > t->names[n].until) {
        t->names[n].until = until;
        heap_down(t, t->names[n].place, n);
    }
}

static void note(VmrpcNames *t, const DnsName *name,
                 const VmrpcNameAddr *addrs, size_t addr_num,
                 uint32_t min_ttl_s, int64_t now_ms)
{
    int64_t last = now_ms;
    DnsName lowered;
    uint32_t n;

    lower(&lowered, name);
    n = find_name(t, &lowered);
    if (!n) {
        n = add_name(t, &lowered, now_ms);
    }
    /* From the end: if not all fit, the first addresses stay. */
    while (addr_num-- > 0) {
        int64_t until = now_ms + 1000LL * CLAMP(addrs[addr_num].ttl_s,
                                                min_ttl_s,
                                                VMRPC_NAMES_MAX_TTL_S);

        give(t, n, &addrs[addr_num], until);
        last = MAX(last, until);
    }
    refresh(t, n, last);
}

VmrpcNames *vmrpc_names_new(size_t size, GError **errp)
{
    g_autoptr(VmrpcNames) t = NULL;
    size_t chains = 1;

    g_return_val_if_fail(size > 0 && size <= VMRPC_NAMES_MAX_SIZE, NULL);
    /* For four addresses a name; with more, chains are a bit longer. */
    while (chains < size * 4) {
        chains *= 2;
    }
    t = g_new0(VmrpcNames, 1);
    t->size = size;
    t->chain_mask = chains - 1;
    t->fresh_address = 1;
    t->names = g_try_new0(Name, size + 1);
    t->heap = g_try_new0(uint32_t, size + 1);
    t->name_chains = g_try_new0(uint32_t, chains);
    t->addresses = g_try_new0(Address, size * VMRPC_NAMES_MAX_ADDRESSES + 1);
    t->address_chains = g_try_new0(uint32_t, chains);
    if (!t->names || !t->heap || !t->name_chains || !t->addresses ||
        !t->address_chains) {
        g_set_error(errp, VMRPC_NAMES_ERROR, VMRPC_NAMES_ERROR_SYSTEM,
                    "no memory for %zu host names", size);
        return NULL;
    }
    if (getrandom(t->key, sizeof(t->key), 0) != sizeof(t->key)) {
        g_set_error(errp, VMRPC_NAMES_ERROR, VMRPC_NAMES_ERROR_SYSTEM,
                    "host names: no random numbers: %s", g_strerror(errno));
        return NULL;
    }
    return g_steal_pointer(&t);
}

void vmrpc_names_free(VmrpcNames *names)
{
    if (!names) {
        return;
    }
    g_free(names->names);
    g_free(names->heap);
    g_free(names->name_chains);
    g_free(names->addresses);
    g_free(names->address_chains);
    g_free(names);
}

void vmrpc_names_note(VmrpcNames *names, const DnsName *name,
                      const VmrpcNameAddr *addrs, size_t addr_num,
                      int64_t now_ms)
{
    if (addr_num) {
        note(names, name, addrs, addr_num, VMRPC_NAMES_MIN_TTL_S, now_ms);
    }
}

void vmrpc_names_restore(VmrpcNames *names, const DnsName *name,
                         const VmrpcNameAddr *addr, int64_t now_ms)
{
    note(names, name, addr, 1, 0, now_ms);
}

size_t vmrpc_names_lookup(const VmrpcNames *names,
                          const struct in6_addr *addr6,
                          VmrpcNameFound *found, size_t max)
{
    uint32_t a = find_address(names, addr6);
    uint32_t number = a ? names->addresses[a].first : 0;
    size_t num = 0;

    for (; number && num < max; number = link_at(names, number)->next) {
        uint32_t n = number / VMRPC_NAMES_MAX_ADDRESSES;

        found[num++] = (VmrpcNameFound) {
            .name = &names->names[n].name,
            .number = n,
        };
    }
    return num;
}

bool vmrpc_names_find(const VmrpcNames *names, const DnsName *name,
                      VmrpcNameFound *found)
{
    DnsName lowered;
    uint32_t n;

    lower(&lowered, name);
    n = find_name(names, &lowered);
    *found = (VmrpcNameFound) { .name = &names->names[n].name, .number = n };
    return n;
}

bool vmrpc_names_leads(const VmrpcNames *names, const VmrpcNameFound *found,
                       const struct in6_addr *addr6)
{
    const Name *name = &names->names[found->number];
    uint32_t a = find_address(names, addr6);

    return a && position_of(name, a) < name->link_num;
}

size_t vmrpc_names_siblings(const VmrpcNames *names,
                            const VmrpcNameFound *found, int64_t now_ms,
                            struct in6_addr addrs[VMRPC_NAMES_MAX_ADDRESSES])
{
    const Name *name = &names->names[found->number];
    size_t num = 0;
    unsigned i;

    for (i = 0; i < name->link_num; i++) {
        const Link *link = &name->links[name->order[i]];

        if (link->until > now_ms) {
            addrs[num++] = names->addresses[link->address].addr6;
        }
    }
    return num;
}

void vmrpc_names_use(VmrpcNames *names, const VmrpcNameFound *found,
                     int64_t now_ms)
{
    refresh(names, found->number, now_ms);
}

void vmrpc_names_foreach(const VmrpcNames *names, int64_t now_ms,
                         VmrpcNamesFunc *func, void *opaque)
{
    /* The oldest name first, and its last address first. */
    for (uint32_t n = names->names[0].newer; n; n = names->names[n].newer) {
        const Name *name = &names->names[n];

        for (unsigned i = name->link_num; i-- > 0;) {
            const Link *link = &name->links[name->order[i]];
            int64_t left_ms = CLAMP(link->until - now_ms, 0,
                                    1000LL * VMRPC_NAMES_MAX_TTL_S);
            VmrpcNameEntry entry = {
                .name = &name->name,
                .addr.addr6 = names->addresses[link->address].addr6,
                .addr.ttl_s = left_ms / 1000,
            };

            func(opaque, &entry);
        }
    }
}

void vmrpc_names_stats(const VmrpcNames *names, VmrpcNamesStats *stats)
{
    *stats = names->stats;
    stats->names = names->used;
}
