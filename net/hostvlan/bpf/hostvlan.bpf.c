/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HostVLAN in eBPF: for frames that QEMU never sees
 *
 * Theory of operation
 *
 * The verdict is the same as in net/hostvlan/verdict.c. It applies to an
 * interface of the host that connects a VM or a container: a tap with
 * vhost-net, the host's end of a veth pair, or a macvtap; or to a bridge, whose
 * own port is the host's network stack. Linux runs our programs at these hooks:
 *
 *                     VM sends            VM receives
 *   tap, veth         XDP (hostvlan_xdp)  tc egress (hostvlan_receive)
 *   macvtap, bridge   tc egress           tc ingress
 *                     (hostvlan_send)     (hostvlan_receive)
 *
 * AF_PACKET sockets get a frame from a tap or a veth before tc ingress does,
 * and Open vSwitch in user space uses AF_PACKET; only XDP runs earlier. If no
 * such socket is in use, hostvlan_send can be attached to tc ingress instead:
 * XDP in generic mode copies frames that are not linear. On a macvtap the
 * directions are reversed: what the VM writes is egress, what it reads is
 * ingress. The same is true of a bridge, with the host in the VM's place.
 *
 * A refused frame is consumed without an error to its sender (see consume();
 * TC_ACT_SHOT has one): a switch in user space that sends one frame to several
 * ports with sendmmsg() stops at the first error, and the remaining ports would
 * lose the frame. A frame that passes is left to the programs and filters after
 * ours (TC_ACT_UNSPEC, not TC_ACT_OK).
 *
 * From Linux 6.6 on the programs of tc are in tcx links, before those of others:
 * a link needs no qdisc and outlives all changes of qdiscs, and a program that
 * comes later cannot let a frame pass that ours refuses. Older kernels have
 * filters of clsact.
 *
 * The table. The only element of the map "tables" is an array with the octets
 * of the table's file, including its header. So vmmnet/hostvlan.h applies to
 * these programs as to any reader: a change in place is one store, and a new
 * file is a new array. A program loads the element of "tables" once for each
 * frame, so a frame is judged by the old table or by the new one. The loader
 * has checked the numbers in the table; the programs check every access: an
 * offset out of bounds counts as absent from the table.
 *
 * The sender's addresses (forged.h, dhcp.h) are compared with the addresses in the
 * table in place, after their check was found to be correct: a record never
 * changes.
 *
 * Each interface has its own programs, "port" and "counters"; all interfaces
 * with the same table share "tables".
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "net/hostvlan/bpf/twin.h"

/* The frame for net/hostvlan/headers.h: one of the two pointers is set. */
struct hostvlan_frame {
    struct xdp_md *xdp;
    struct __sk_buff *skb;
    uint32_t is_xdp;            /* 1 or 0: a constant at compile time */
    uint32_t size;              /* octets after these are not read */
};

static __always_inline bool hostvlan_read(const struct hostvlan_frame *f,
                                          uint32_t offset, void *to,
                                          uint32_t num);

/* The functions shared with QEMU must be inlined into each program. */
#pragma push_macro("inline")
#define inline __always_inline
#include "net/hostvlan/group.h"
#include "net/hostvlan/offers.h"
#pragma pop_macro("inline")

static __always_inline uint32_t xdp_size(const struct xdp_md *xdp)
{
    long data = xdp->data, end = xdp->data_end;

    /* The verifier refuses to spill pointers as the 32 bits of the members. */
    asm volatile("" : "+r"(data), "+r"(end));
    return end - data;
}

/* In a callback of bpf_loop(), the frame has no compile-time constants. */
static __always_inline struct hostvlan_frame
frame_of_xdp(const struct hostvlan_frame *f)
{
    return (struct hostvlan_frame) {
        .xdp = f->xdp, .is_xdp = 1, .size = f->size,
    };
}

static __always_inline struct hostvlan_frame
frame_of_skb(const struct hostvlan_frame *f)
{
    return (struct hostvlan_frame) { .skb = f->skb, .size = f->size };
}

static long next_xdp_extension(uint32_t n, struct hostvlan_extensions *e)
{
    const struct hostvlan_frame f = frame_of_xdp(&e->f);

    return !hostvlan_next_extension(e, &f);
}

static long next_skb_extension(uint32_t n, struct hostvlan_extensions *e)
{
    const struct hostvlan_frame f = frame_of_skb(&e->f);

    return !hostvlan_next_extension(e, &f);
}

static __always_inline void
hostvlan_all_extensions(struct hostvlan_extensions *e)
{
    bpf_loop(HOSTVLAN_EXTENSIONS_MAX,
             e->f.is_xdp ? next_xdp_extension : next_skb_extension, e, 0);
}

#define ETHER_SOURCE    6       /* offset */
#define ETHER_ADDRESSES 12      /* octets */

/* volatile: one load. clang 14 has no atomic loads for this target. */
#define LOAD(x)         (*(const volatile typeof(x) *)&(x))

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __uint(key_size, sizeof(uint32_t));
    __array(values, struct {
        __uint(type, BPF_MAP_TYPE_ARRAY);
        __uint(map_flags, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
        __uint(max_entries, 1);
        __uint(key_size, sizeof(uint32_t));
        __uint(value_size, HOSTVLAN_ELEMENT);
    });
} tables SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct hostvlan_port);
} port SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct hostvlan_counters);
} counters SEC(".maps");

/* --- the table ---------------------------------------------------------- */

/* The table that is in force for one frame. */
struct table {
    void *map;
    uint32_t buckets;
    uint32_t words;
};

static __always_inline bool open_table(struct table *t)
{
    const uint32_t zero = 0;
    const struct hostvlan_header *header;

    t->map = bpf_map_lookup_elem(&tables, &zero);
    if (!t->map) {
        return false;
    }
    /* Reads only members of the first element that never change. */
    header = bpf_map_lookup_elem(t->map, &zero);
    if (!header || !header->buckets) {
        return false;
    }
    t->buckets = header->buckets;
    t->words = header->words;
    return true;
}

#define DAMAGED         ((uint64_t)HOSTVLAN_VALUE_DAMAGED << 62)

/* The value of a slot with @key; 0: no value; DAMAGED. */
static __always_inline uint64_t checked(uint64_t key, uint64_t value)
{
    if (!hostvlan_value_valid(key, value)) {
        return DAMAGED;
    }
    return hostvlan_value_kind(value) == HOSTVLAN_VALUE_NONE ? 0 : value;
}

/* A search for a key. */
struct finding {
    struct table table;
    uint64_t key, value;        /* value: the result if no slot has the key */
    uint32_t at;                /* the next bucket */
};

/* Callback: searches a bucket. Returns: 1 if the result is known. */
static long find_in_bucket(uint32_t n, struct finding *s)
{
    uint32_t element = HOSTVLAN_FIRST_ELEMENT + s->at;
    const struct hostvlan_bucket *b =
        bpf_map_lookup_elem(s->table.map, &element);

    if (!b) {
        return 1;
    }
#pragma unroll
    for (unsigned i = 0; i < HOSTVLAN_SLOTS; i++) {
        uint64_t found = LOAD(b->slot[i].key);

        if (found == s->key) {
            s->value = checked(s->key, LOAD(b->slot[i].value));
            return 1;
        }
        if (!found) {
            return 1;
        }
        if (hostvlan_differ_in_one(found ^ s->key)) {
            s->value = DAMAGED;
        }
    }
    s->at = s->at + 1 == s->table.buckets ? 0 : s->at + 1;
    return 0;
}

/*
 * The table's value for @mac, of 48 bits; 0: none; DAMAGED: the entry is
 * damaged. A key that differs in a single bit from the key of @mac is damaged.
 *
 * A helper function loops: the verifier would check every path through all
 * buckets, a second of processor time for each interface that is attached.
 */
static __always_inline uint64_t find(const struct table *t, uint64_t mac)
{
    struct finding s = {
        .table = *t,
        .key = hostvlan_key(mac),
        .at = hostvlan_first_bucket(mac, t->buckets),
    };

    bpf_loop(HOSTVLAN_PROBE_MAX, find_in_bucket, &s, 0);
    return s.value;
}

/* A word of the record area; -1: out of bounds. */
static __always_inline __s64 word(const struct table *t, uint32_t offset)
{
    const uint32_t each = HOSTVLAN_ELEMENT / sizeof(uint32_t);
    uint32_t element = HOSTVLAN_FIRST_ELEMENT + t->buckets + offset / each;
    const uint32_t *words = bpf_map_lookup_elem(t->map, &element);

    return words ? (__s64)LOAD(words[offset % each]) : -1;
}

/* --- sets of LNIDs ------------------------------------------------------ */

struct set {
    uint32_t one;               /* the first LNID */
    uint32_t at;                /* index of its word, if there is a record */
    uint32_t count;
    uint32_t head;              /* of the record; 0: no record */
    uint64_t sum;               /* hostvlan_sum() up to the last LNID */
};

/* State of a hostvlan_sum() over words of the table. */
struct summing {
    struct table table;
    uint32_t at, last;          /* last: the previous LNID */
    uint64_t sum;
    bool any_order;
    bool whole;                 /* no fault so far */
};

/* Callback: adds a word. Returns: 1 to stop. */
static long sum_up(uint32_t n, struct summing *s)
{
    __s64 found = word(&s->table, s->at + n);

    s->whole = found >= 0 &&
               (s->any_order || n == 0 || (uint32_t)found > s->last);
    s->last = found;
    s->sum = hostvlan_sum(s->sum, s->last);
    return !s->whole;
}

/* Are the next @count words valid, followed by the correct check? */
static __always_inline bool sum_whole(struct summing *s, uint32_t count)
{
    bpf_loop(count, sum_up, s, 0);
    return s->whole && word(&s->table, s->at + count) == (__s64)(s->sum >> 32);
}

/* Are the @count LNIDs after a record's @head, at word @at, undamaged? */
static __always_inline bool lnids_whole(const struct table *t, uint64_t value,
                                        uint32_t head, uint32_t at,
                                        uint32_t count, uint64_t *sum)
{
    struct summing s = {
        .table = *t,
        .at = at + 1,
        .sum = hostvlan_sum(hostvlan_sum(0, value), head),
    };
    bool whole = sum_whole(&s, count);

    *sum = s.sum;
    return whole;
}

/* Returns: false if value or record are damaged. */
static __always_inline bool open_set(const struct table *t, uint64_t value,
                                     struct set *set)
{
    uint32_t number = hostvlan_value_number(value);
    __s64 head;
    uint32_t words;

    if (hostvlan_value_kind(value) == HOSTVLAN_VALUE_ONE) {
        *set = (struct set) { .one = number, .count = 1 };
        return true;
    }
    if (value == DAMAGED) {
        return false;
    }
    head = number < t->words ? word(t, number) : -1;
    words = head < 0 ? 0 : hostvlan_record_words(head);
    if (!words || words > t->words - number) {
        return false;
    }
    set->one = word(t, number + 1);
    set->at = number + 1;
    set->count = HOSTVLAN_RECORD_LNIDS(head);
    set->head = head;
    return lnids_whole(t, value, head, number, set->count, &set->sum);
}

static __always_inline __s64 lnid(const struct table *t,
                                    const struct set *set, uint32_t i)
{
    return i == 0 ? set->one : word(t, set->at + i);
}

/* Two sets in ascending order, compared in parallel. */
struct walk {
    struct table table;
    struct set own, source;
    uint32_t own_at, source_at;
    bool met;
};

/* Callback: one step. Returns: 1 if the result is known. */
static long step(uint32_t n, struct walk *w)
{
    __s64 a, b;

    if (w->own_at >= w->own.count || w->source_at >= w->source.count) {
        return 1;
    }
    a = lnid(&w->table, &w->own, w->own_at);
    b = lnid(&w->table, &w->source, w->source_at);
    if (a < 0 || b < 0) {
        return 1;
    }
    w->met = a == b;
    w->own_at += a < b;
    w->source_at += a > b;
    return w->met;
}

/*
 * Does one set have the global LNID, which is its first, or do they intersect?
 */
static __always_inline bool meet(struct walk *w)
{
    const struct set *a = &w->own, *b = &w->source;

    if (a->one == HOSTVLAN_LNID_GLOBAL || b->one == HOSTVLAN_LNID_GLOBAL ||
        a->one == b->one) {
        return true;
    }
    if (a->count > 1 || b->count > 1) {
        bpf_loop(2 * HOSTVLAN_LNIDS_MAX, step, w, 0);
    }
    return w->met;
}

/* --- sender addresses --------------------------------------------------- */

/* For net/hostvlan/forged.h: the addresses in the source's record. */
struct hostvlan_own {
    struct table table;
    uint32_t at;                /* index of the first IPv4 address */
    uint32_t num_ip4, num_ip6;
    uint32_t host_bits_at;      /* index of their host bits; 0: no prefixes */
};

/* A search for an address in the record. */
struct search {
    struct table table;
    uint32_t at;
    uint32_t addr[4];
    bool found;
    uint32_t host_bits_at;      /* as in struct hostvlan_own */
    uint32_t before;            /* addresses before those that are searched */
};

/* The number of host bits of the address @n; -1: out of bounds. */
static __always_inline __s64 host_bits(const struct search *s, uint32_t n)
{
    __s64 four;

    n += s->before;
    four = s->host_bits_at ? word(&s->table, s->host_bits_at + n / 4) : 0;
    return four < 0 ? -1 : four >> n % 4 * 8 & 0xff;
}

static long is_ip4(uint32_t n, struct search *s)
{
    __s64 own = word(&s->table, s->at + n), bits = host_bits(s, n);

    s->found = own >= 0 && bits >= 0 && hostvlan_within4(s->addr[0], own, bits);
    return s->found;
}

static long is_ip6(uint32_t n, struct search *s)
{
    __s64 bits = host_bits(s, n);
    bool there = bits >= 0;
    uint32_t own[4];

    for (unsigned i = 0; i < 4; i++) {
        __s64 found = word(&s->table, s->at + 4 * n + i);

        there &= found >= 0;
        own[i] = found;
    }
    s->found = there && hostvlan_within6(s->addr, own, bits);
    return s->found;
}

static bool hostvlan_own_ip4(const struct hostvlan_own *own, uint32_t ip4)
{
    struct search s = {
        .table = own->table,
        .at = own->at,
        .addr = { ip4 },
        .host_bits_at = own->host_bits_at,
    };

    bpf_loop(own->num_ip4, is_ip4, &s, 0);
    return s.found;
}

static bool hostvlan_own_ip6(const struct hostvlan_own *own,
                             const uint32_t ip6[4])
{
    struct search s = {
        .table = own->table,
        .at = own->at + own->num_ip4,
        .addr = { ip6[0], ip6[1], ip6[2], ip6[3] },
        .host_bits_at = own->host_bits_at,
        .before = own->num_ip4,
    };

    bpf_loop(own->num_ip6, is_ip6, &s, 0);
    return s.found;
}

#pragma push_macro("inline")
#define inline __always_inline
#include "net/hostvlan/dhcp.h"
#include "net/hostvlan/forged.h"
#pragma pop_macro("inline")

static long next_xdp_option(uint32_t n, struct hostvlan_options *o)
{
    const struct hostvlan_frame f = frame_of_xdp(&o->f);

    return !hostvlan_next_option(o, &f);
}

static long next_skb_option(uint32_t n, struct hostvlan_options *o)
{
    const struct hostvlan_frame f = frame_of_skb(&o->f);

    return !hostvlan_next_option(o, &f);
}

static __always_inline void hostvlan_all_options(struct hostvlan_options *o)
{
    bpf_loop(HOSTVLAN_ND_OPTIONS_MAX,
             o->f.is_xdp ? next_xdp_option : next_skb_option, o, 0);
}

static long next_xdp_dhcp4(uint32_t n, struct hostvlan_dhcp *d)
{
    const struct hostvlan_frame f = frame_of_xdp(&d->f);

    return !hostvlan_next_dhcp4(d, &f);
}

static long next_skb_dhcp4(uint32_t n, struct hostvlan_dhcp *d)
{
    const struct hostvlan_frame f = frame_of_skb(&d->f);

    return !hostvlan_next_dhcp4(d, &f);
}

static long next_xdp_dhcp6(uint32_t n, struct hostvlan_dhcp *d)
{
    const struct hostvlan_frame f = frame_of_xdp(&d->f);

    return !hostvlan_next_dhcp6(d, &f);
}

static long next_skb_dhcp6(uint32_t n, struct hostvlan_dhcp *d)
{
    const struct hostvlan_frame f = frame_of_skb(&d->f);

    return !hostvlan_next_dhcp6(d, &f);
}

static __always_inline void hostvlan_all_dhcp4(struct hostvlan_dhcp *d)
{
    bpf_loop(HOSTVLAN_LOOK_LEN,
             d->f.is_xdp ? next_xdp_dhcp4 : next_skb_dhcp4, d, 0);
}

static __always_inline void hostvlan_all_dhcp6(struct hostvlan_dhcp *d)
{
    bpf_loop(HOSTVLAN_LOOK_LEN,
             d->f.is_xdp ? next_xdp_dhcp6 : next_skb_dhcp6, d, 0);
}

/* Returns: false if the port's entry in the table is damaged. */
static __always_inline bool open_own(const struct table *t, uint64_t mac,
                                     struct hostvlan_own *own)
{
    uint64_t value = find(t, mac);
    struct summing s = { .table = *t, .any_order = true };
    struct set set;

    own->table = *t;
    own->num_ip4 = own->num_ip6 = own->host_bits_at = 0;
    if (!value) {
        return true;
    }
    if (!open_set(t, value, &set)) {
        return false;
    }
    own->num_ip4 = HOSTVLAN_RECORD_IP4(set.head);
    own->num_ip6 = HOSTVLAN_RECORD_IP6(set.head);
    /* The addresses follow the LNIDs and their check. */
    s.at = own->at = set.at + set.count + 1;
    s.sum = set.sum;
    if (HOSTVLAN_RECORD_PREFIXES(set.head)) {
        own->host_bits_at = own->at + own->num_ip4 + 4 * own->num_ip6;
    }
    return (!own->num_ip4 && !own->num_ip6) ||
           sum_whole(&s, hostvlan_address_words(set.head) - 1);
}

static __always_inline enum hostvlan_reason
check_own(const struct hostvlan_frame *f, const struct table *t, uint64_t mac)
{
    struct hostvlan_own own;
    struct hostvlan_sender s = { .f = *f, .mac = mac };

    if (!open_own(t, mac, &own)) {
        return HOSTVLAN_DAMAGED;
    }
    s.own = own.num_ip4 || own.num_ip6 ? &own : NULL;
    return hostvlan_forged(&s);
}

/* @found: from hostvlan_find_dhcp() */
static __always_inline enum hostvlan_reason
check_dhcp(const struct hostvlan_frame *f, const struct table *t, uint64_t mac,
           uint32_t found)
{
    struct hostvlan_own own;
    struct hostvlan_sender s = { .f = *f, .mac = mac };

    if (!open_own(t, mac, &own)) {
        return HOSTVLAN_DAMAGED;
    }
    s.own = own.num_ip4 || own.num_ip6 ? &own : NULL;
    return hostvlan_forged_dhcp(&s, found);
}

/* Separate functions, as the verifier limits the stack of each chain of calls. */
static __noinline enum hostvlan_reason
check_xdp(struct xdp_md *xdp, const struct table *t, uint64_t mac)
{
    const struct hostvlan_frame f = {
        .xdp = xdp, .is_xdp = 1, .size = xdp_size(xdp),
    };

    return check_own(&f, t, mac);
}

static __noinline enum hostvlan_reason
check_skb(struct __sk_buff *skb, const struct table *t, uint64_t mac)
{
    const struct hostvlan_frame f = { .skb = skb, .size = skb->len };

    return check_own(&f, t, mac);
}

static __noinline enum hostvlan_reason
check_dhcp_xdp(struct xdp_md *xdp, const struct table *t, uint64_t mac,
               uint32_t found)
{
    const struct hostvlan_frame f = {
        .xdp = xdp, .is_xdp = 1, .size = xdp_size(xdp),
    };

    return check_dhcp(&f, t, mac, found);
}

static __noinline enum hostvlan_reason
check_dhcp_skb(struct __sk_buff *skb, const struct table *t, uint64_t mac,
               uint32_t found)
{
    const struct hostvlan_frame f = { .skb = skb, .size = skb->len };

    return check_dhcp(&f, t, mac, found);
}

/* --- other rights of a port --------------------------------------------- */

/* Returns: false if the port's entry in the table is damaged. */
static __always_inline bool open_rights(const struct table *t, uint64_t mac,
                                        struct set *set, struct summing *s)
{
    uint64_t value = find(t, mac);

    *set = (struct set) { .count = 0 };
    *s = (struct summing) { .table = *t, .any_order = true };
    if (!value) {
        return true;
    }
    if (!open_set(t, value, set)) {
        return false;
    }
    /* The MAC addresses follow the LNIDs, the addresses and their checks. */
    s->at = set->at + set->count + 1 + hostvlan_address_words(set->head);
    s->sum = set->sum;
    return !HOSTVLAN_RECORD_ALSO(set->head) ||
           sum_whole(s, 2 * HOSTVLAN_RECORD_ALSO(set->head));
}

static long is_also(uint32_t n, struct search *s)
{
    s->found = word(&s->table, s->at + 2 * n) == (__s64)s->addr[0] &&
               word(&s->table, s->at + 2 * n + 1) == (__s64)s->addr[1];
    return s->found;
}

/* Is @source one of the other MAC addresses that the port may send with? */
static __noinline bool sends_as(const struct table *t, uint64_t mac,
                                uint64_t source)
{
    struct search search = { .table = *t, .addr = { source >> 32, source } };
    struct summing s;
    struct set set;

    if (!open_rights(t, mac, &set, &s)) {
        return false;
    }
    search.at = s.at;
    bpf_loop(HOSTVLAN_RECORD_ALSO(set.head), is_also, &search, 0);
    return search.found;
}

/*
 * Global functions: the verifier checks each once, not once for each state of
 * its caller.
 */
__noinline enum hostvlan_reason query_sent_xdp(struct xdp_md *xdp)
{
    const struct hostvlan_frame f = {
        .xdp = xdp, .is_xdp = 1, .size = xdp_size(xdp),
    };
    uint32_t looked_at;

    return hostvlan_query_sent(&f, &looked_at);
}

__noinline enum hostvlan_reason query_sent_skb(struct __sk_buff *skb)
{
    const struct hostvlan_frame f = { .skb = skb, .size = skb->len };
    uint32_t looked_at;

    return hostvlan_query_sent(&f, &looked_at);
}

__noinline enum hostvlan_reason offered_xdp(struct xdp_md *xdp, uint32_t guards)
{
    struct hostvlan_frame f = {
        .xdp = xdp, .is_xdp = 1, .size = xdp_size(xdp),
    };
    uint32_t looked_at;

    return hostvlan_offered(&f, guards, &looked_at);
}

__noinline enum hostvlan_reason offered_skb(struct __sk_buff *skb,
                                            uint32_t guards)
{
    struct hostvlan_frame f = { .skb = skb, .size = skb->len };
    uint32_t looked_at;

    return hostvlan_offered(&f, guards, &looked_at);
}

__noinline uint32_t find_dhcp_xdp(struct xdp_md *xdp)
{
    struct hostvlan_frame f = {
        .xdp = xdp, .is_xdp = 1, .size = xdp_size(xdp),
    };

    return hostvlan_find_dhcp(&f);
}

__noinline uint32_t find_dhcp_skb(struct __sk_buff *skb)
{
    struct hostvlan_frame f = { .skb = skb, .size = skb->len };

    return hostvlan_find_dhcp(&f);
}

/* Checks if a frame with verdict @reason is allowed by the port's rights. */
static __noinline enum hostvlan_reason
unless_allowed(const struct table *t, uint64_t mac,
               enum hostvlan_reason reason, uint32_t guards)
{
    struct summing s;
    struct set set;

    if (!open_rights(t, mac, &set, &s)) {
        return HOSTVLAN_DAMAGED;
    }
    return hostvlan_offer_needed(reason, guards) &
           ~HOSTVLAN_RECORD_OFFERS(set.head) ? reason : HOSTVLAN_PASSED;
}

static __always_inline enum hostvlan_reason
check_offer(const struct hostvlan_frame *f, const struct table *t,
            const struct hostvlan_port *p)
{
    uint32_t guards = HOSTVLAN_PORT_GUARDS(p->flags);
    enum hostvlan_reason reason;

    if (!guards) {
        return HOSTVLAN_PASSED;
    }
    reason = f->is_xdp ? offered_xdp(f->xdp, guards) :
                         offered_skb(f->skb, guards);
    return reason == HOSTVLAN_PASSED ? HOSTVLAN_PASSED :
           unless_allowed(t, p->mac, reason, guards);
}

/* --- verdicts ----------------------------------------------------------- */

/*
 * Is @mac in the global LNID? A function of its own: up to Linux 6.7 each stack
 * counts in units of 32 octets, and those of send(), of what it calls and of the
 * callbacks there have 512 together.
 */
static __noinline bool is_global(const struct table *t, uint64_t mac)
{
    struct set own;

    return open_set(t, find(t, mac), &own) && own.one == HOSTVLAN_LNID_GLOBAL;
}

/* A frame from the port's own MAC address to a multicast address. */
static __always_inline enum hostvlan_reason
send_group(const struct table *table, const struct hostvlan_port *p,
           const struct hostvlan_frame *f, uint64_t dest)
{
    enum hostvlan_reason reason;

    if (!(p->flags & HOSTVLAN_PORT_L2_CONTROL) &&
        hostvlan_is_l2_control(dest)) {
        return HOSTVLAN_L2_CONTROL;
    }
    reason = f->is_xdp ? query_sent_xdp(f->xdp) : query_sent_skb(f->skb);
    return reason == HOSTVLAN_PASSED || is_global(table, p->mac) ?
           HOSTVLAN_PASSED : reason;
}

/* @addresses: of the frame, in wire order */
static __always_inline enum hostvlan_reason
send(const struct hostvlan_frame *f, const uint8_t *addresses)
{
    const uint32_t zero = 0;
    const struct hostvlan_port *p = bpf_map_lookup_elem(&port, &zero);
    uint64_t source = hostvlan_mac(addresses + ETHER_SOURCE);
    enum hostvlan_reason reason = HOSTVLAN_PASSED;
    uint32_t dhcp;
    struct table table;

    if (!open_table(&table)) {
        return HOSTVLAN_NO_TABLE;
    }
    if (!p || !hostvlan_mac_valid(p->mac)) {
        return HOSTVLAN_NO_PORT;
    }
    if (source != p->mac && !sends_as(&table, p->mac, source)) {
        return HOSTVLAN_SPOOFED;
    }
    if (hostvlan_is_group(addresses)) {
        reason = send_group(&table, p, f, hostvlan_mac(addresses));
    }
    if (reason == HOSTVLAN_PASSED) {
        reason = check_offer(f, &table, p);
    }
    if (reason != HOSTVLAN_PASSED ||
        !(p->flags & HOSTVLAN_PORT_CHECK_SENDER)) {
        return reason;
    }
    reason = f->is_xdp ? check_xdp(f->xdp, &table, source) :
                         check_skb(f->skb, &table, source);
    dhcp = reason != HOSTVLAN_PASSED ? 0 :
           f->is_xdp ? find_dhcp_xdp(f->xdp) : find_dhcp_skb(f->skb);
    if (!dhcp || unless_allowed(&table, source, HOSTVLAN_DHCP_GUARD,
                                HOSTVLAN_OFFER_DHCP) == HOSTVLAN_PASSED) {
        return reason;
    }
    return f->is_xdp ? check_dhcp_xdp(f->xdp, &table, source, dhcp) :
                       check_dhcp_skb(f->skb, &table, source, dhcp);
}

static __always_inline enum hostvlan_reason
receive(const struct hostvlan_frame *f, const uint8_t *addresses)
{
    uint64_t source = hostvlan_mac(addresses + ETHER_SOURCE);
    const uint32_t zero = 0;
    const struct hostvlan_port *p = bpf_map_lookup_elem(&port, &zero);
    struct walk w = {};
    uint64_t own, other;

    if (!open_table(&w.table)) {
        return HOSTVLAN_NO_TABLE;
    }
    own = p && hostvlan_mac_valid(p->mac) ? find(&w.table, p->mac) : 0;
    if (!own) {
        return HOSTVLAN_NO_PORT;
    }
    other = hostvlan_mac_valid(source) ? find(&w.table, source) : 0;
    if (!other) {
        return hostvlan_mac_valid(source) && hostvlan_is_group(addresses) &&
               hostvlan_query_received(f, f->size, hostvlan_mac(addresses)) ?
               HOSTVLAN_PASSED : HOSTVLAN_UNKNOWN_SOURCE;
    }
    if (!open_set(&w.table, own, &w.own) ||
        !open_set(&w.table, other, &w.source)) {
        return HOSTVLAN_DAMAGED;
    }
    return meet(&w) ? HOSTVLAN_PASSED : HOSTVLAN_OTHER_TENANT;
}

/* Counts the frame. Returns: true if it passes. */
static __always_inline bool passes(enum hostvlan_direction direction,
                                   enum hostvlan_reason reason)
{
    const uint32_t zero = 0;
    struct hostvlan_counters *c = bpf_map_lookup_elem(&counters, &zero);

    if (c && reason < HOSTVLAN_REASONS) {
        /*
         * The counters are per CPU, and our programs do not interrupt each
         * other.
         */
        c->frames[direction][reason]++;
    }
    return reason == HOSTVLAN_PASSED;
}

static __always_inline bool read_xdp(struct xdp_md *xdp, uint32_t offset,
                                     void *to, uint32_t num)
{
    const uint8_t *p = (const uint8_t *)(long)xdp->data;
    const uint8_t *end = (const uint8_t *)(long)xdp->data_end;

    /* The verifier needs a bound of the offset right before the addition. */
    asm volatile("" : "+r"(offset));
    if (offset > HOSTVLAN_LOOK_LEN) {
        return false;
    }
    p += offset;
    if (p + num > end) {
        return false;
    }
    __builtin_memcpy(to, p, num);
    return true;
}

static __always_inline bool hostvlan_read(const struct hostvlan_frame *f,
                                          uint32_t offset, void *to,
                                          uint32_t num)
{
    if (offset > HOSTVLAN_LOOK_LEN - num || offset + num > f->size) {
        return false;
    }
    return f->is_xdp ? read_xdp(f->xdp, offset, to, num) :
                       !bpf_skb_load_bytes(f->skb, offset, to, num);
}

/* Reads the addresses of a frame that begins with an Ethernet header. */
static __always_inline bool read_addresses(struct __sk_buff *skb,
                                           uint8_t *addresses)
{
    return skb->len >= HOSTVLAN_ETH_LEN &&
           !bpf_skb_load_bytes(skb, 0, addresses, ETHER_ADDRESSES);
}

SEC("xdp")
int hostvlan_xdp(struct xdp_md *ctx)
{
    const uint8_t *frame = (const uint8_t *)(long)ctx->data;
    const uint8_t *end = (const uint8_t *)(long)ctx->data_end;
    const struct hostvlan_frame f = {
        .xdp = ctx, .is_xdp = 1, .size = end - frame,
    };
    enum hostvlan_reason reason = HOSTVLAN_MALFORMED;

    if (frame + HOSTVLAN_ETH_LEN <= end) {
        reason = send(&f, frame);
    }
    return passes(HOSTVLAN_SEND, reason) ? XDP_PASS : XDP_DROP;
}

/*
 * Drops a frame without an error to its sender.  TC_ACT_STOLEN does so in a
 * filter, but in a tcx link it means "ask the next program".  A redirection to
 * the interface 0, which never exists, drops the frame in both, and in both
 * directions.
 */
static int consume(void)
{
    return bpf_redirect(0, 0);
}

SEC("tc")
int hostvlan_send(struct __sk_buff *skb)
{
    const struct hostvlan_frame f = { .skb = skb, .size = skb->len };
    uint8_t addresses[ETHER_ADDRESSES];
    enum hostvlan_reason reason =
        read_addresses(skb, addresses) ? send(&f, addresses) :
                                         HOSTVLAN_MALFORMED;

    return passes(HOSTVLAN_SEND, reason) ? TC_ACT_UNSPEC : consume();
}

SEC("tc")
int hostvlan_receive(struct __sk_buff *skb)
{
    const struct hostvlan_frame f = { .skb = skb, .size = skb->len };
    uint8_t addresses[ETHER_ADDRESSES];
    enum hostvlan_reason reason =
        read_addresses(skb, addresses) ? receive(&f, addresses) :
                                         HOSTVLAN_MALFORMED;

    return passes(HOSTVLAN_RECEIVE, reason) ? TC_ACT_UNSPEC : consume();
}

char hostvlan_license[] SEC("license") = "GPL";
