/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do HostVLAN's two data paths agree?
 *
 *   hostvlan-agree hostvlan.bpf.o FRAMES SEED
 *
 * Random frames and tables go to the C core (verdict.c and sender.c of
 * net/hostvlan) and, by BPF_PROG_TEST_RUN, to the programs that judge frames in
 * the kernel. For each
 * frame both must come to the same verdict for the same reason: of the
 * kernel's counters the right one has grown, by one, and no other. The tables
 * are small, so that MAC addresses collide and searches run over the end, and
 * they change between the frames, and have bits that are wrong. The first
 * difference ends it with status 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include "net/hostvlan/bpf/twin.h"
#include "net/hostvlan/sender.h"
#include "net/hostvlan/verdict.h"
#include "tests/fixtures/hostvlan-fixture.h"
#include "tests/fixtures/hostvlan-frames.h"

#define ROUND           2500    /* frames of one table */
#define PORT_FRAMES     16      /* frames of one port */
#define CHANGE_EVERY    8       /* frames, on average, between changes */
#define DAMAGE_EVERY    16      /* changes, on average, between wrong bits */
#define NO_TABLE_EVERY  40      /* rounds, on average */
#define FRAME_MIN       14
#define FRAME_MAX       1514
#define MACS_MAX        96
/* What must have happened, of each reason, for the test to be one. */
#define EACH_REASON     1000

/* The kernel wants more than the header of what tc is to see, and IP whole. */
#define TC_FRAME_MIN    15
#define IP_FRAME_MIN    (FRAME_MIN + 40)

/* Addresses are this one and those behind it; some are in the table. */
#define ADDRESS4        0xc0000200u     /* 192.0.2.0 */
#define ADDRESSES       (2 * HOSTVLAN_IP4_MAX)
static const uint32_t address6[4] = { 0x20010db8 };

#define ELEMENTS(octets) \
    (((octets) + HOSTVLAN_ELEMENT - 1) / HOSTVLAN_ELEMENT)

typedef struct Program {
    const char *name;
    enum hostvlan_direction direction;
    uint32_t pass, refuse;      /* what it returns */
    size_t frame_min;
    int fd;
} Program;

static Program programs[] = {
    {
        .name = "hostvlan_xdp",
        .direction = HOSTVLAN_SEND,
        .pass = XDP_PASS,
        .refuse = XDP_DROP,
        .frame_min = FRAME_MIN,
    }, {
        .name = "hostvlan_send",
        .direction = HOSTVLAN_SEND,
        .pass = TC_ACT_UNSPEC,
        .refuse = TC_ACT_REDIRECT,
        .frame_min = TC_FRAME_MIN,
    }, {
        .name = "hostvlan_receive",
        .direction = HOSTVLAN_RECEIVE,
        .pass = TC_ACT_UNSPEC,
        .refuse = TC_ACT_REDIRECT,
        .frame_min = TC_FRAME_MIN,
    },
};

typedef struct Twin {
    struct bpf_object *object;
    int tables, port, counters;
    unsigned cpus;
    struct hostvlan_counters *each_cpu;
    struct hostvlan_counters before;    /* sums */
    void *copy;                 /* of the table in force */
    size_t size;
} Twin;

typedef struct World {
    GRand *rand;
    char *path;
    Twin twin;
    HvWriter *writer;
    HostvlanTable *table;       /* NULL: none is in force */
    uint64_t mac[MACS_MAX];     /* some are in the table */
    unsigned num_macs;
    uint32_t lnids;             /* LNIDs are below it; 0: all there are */
    uint64_t port;
    bool l2_control;            /* the port may send to switches */
    bool check_sender;          /* what it sends must be its own */
    uint32_t guards;            /* what it may offer only if it is allowed to */
    unsigned long changes, tables;
    unsigned long queries;      /* that passed from unknown sources */
    unsigned long others;       /* that passed with another MAC address */
    unsigned long inside;       /* that passed only thanks to a prefix */
    unsigned long outside;      /* that were forged, in spite of prefixes */
    unsigned long leases;       /* to DHCP servers, of clients */
    unsigned long stolen;       /* that name others to them */
    unsigned long relayed;      /* that only servers and relays may send */
    uint64_t seen[HOSTVLAN_DIRECTIONS][HOSTVLAN_REASONS];
} World;

static void G_GNUC_NORETURN die(const char *what, int error)
{
    fprintf(stderr, "hostvlan-agree: %s: %s\n", what, strerror(error));
    exit(2);
}

static uint32_t below(World *w, uint32_t end)
{
    return g_rand_int_range(w->rand, 0, end);
}

/* --- the kernel's side -------------------------------------------------- */

static void load(Twin *t, const char *file)
{
    t->object = bpf_object__open_file(file, NULL);
    if (!t->object) {
        die(file, errno);
    }
    if (bpf_object__load(t->object)) {
        die("the kernel does not take the programs", errno);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
        programs[i].fd = bpf_program__fd(bpf_object__find_program_by_name(
            t->object, programs[i].name));
    }
    t->tables = bpf_object__find_map_fd_by_name(t->object, "tables");
    t->port = bpf_object__find_map_fd_by_name(t->object, "port");
    t->counters = bpf_object__find_map_fd_by_name(t->object, "counters");
    t->cpus = libbpf_num_possible_cpus();
    t->each_cpu = g_new0(struct hostvlan_counters, t->cpus);
}

static void take_away(Twin *t)
{
    if (t->copy) {
        munmap(t->copy, t->size);
        t->copy = NULL;
    }
}

static void put_table(Twin *t, const HvWriter *from)
{
    LIBBPF_OPTS(bpf_map_create_opts, options,
                .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    uint32_t elements = ELEMENTS(from->size), zero = 0;
    int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "agree", sizeof(zero),
                            HOSTVLAN_ELEMENT, elements, &options);

    if (fd < 0) {
        die("making an array", -fd);
    }
    take_away(t);
    t->size = elements * HOSTVLAN_ELEMENT;
    t->copy = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (t->copy == MAP_FAILED) {
        die("mapping an array", errno);
    }
    memcpy(t->copy, from->header, from->size);
    if (bpf_map_update_elem(t->tables, &zero, &fd, 0)) {
        die("putting a table into force", errno);
    }
    close(fd);
}

static void put_no_table(Twin *t)
{
    uint32_t zero = 0;

    take_away(t);
    bpf_map_delete_elem(t->tables, &zero);
}

static void put_port(World *w)
{
    struct hostvlan_port port = {
        .mac = w->port,
        .flags = (w->l2_control ? HOSTVLAN_PORT_L2_CONTROL : 0) |
                 (w->check_sender ? HOSTVLAN_PORT_CHECK_SENDER : 0) |
                 w->guards << HOSTVLAN_PORT_GUARDS_SHIFT,
    };
    uint32_t zero = 0;

    if (bpf_map_update_elem(w->twin.port, &zero, &port, 0)) {
        die("setting the port", errno);
    }
}

static void sum_up(Twin *t, struct hostvlan_counters *sum)
{
    const uint64_t *from;
    uint64_t *to = &sum->frames[0][0];
    uint32_t zero = 0;

    if (bpf_map_lookup_elem(t->counters, &zero, t->each_cpu)) {
        die("reading the counters", errno);
    }
    memset(sum, 0, sizeof(*sum));
    for (unsigned cpu = 0; cpu < t->cpus; cpu++) {
        from = &t->each_cpu[cpu].frames[0][0];
        for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
            to[i] += from[i];
        }
    }
}

/* Returns what the program did; the reason is what has been counted. */
static uint32_t run(Twin *t, const Program *p, uint8_t *frame, size_t len)
{
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame,
                .data_size_in = len, .repeat = 1);

    if (bpf_prog_test_run_opts(p->fd, &options)) {
        die(p->name, errno);
    }
    return options.retval;
}

/* --- random tables ------------------------------------------------------ */

static int compare_lnids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static uint32_t random_lnid(World *w)
{
    return w->lnids ? 1 + below(w, w->lnids - 1) : g_rand_int(w->rand);
}

/* One LNID mostly, seldom the most there can be. */
static unsigned random_count(World *w)
{
    switch (below(w, 8)) {
    case 0:
        return 1 + below(w, HOSTVLAN_LNIDS_MAX);
    case 1:
    case 2:
        return 2 + below(w, 4);
    default:
        return 1;
    }
}

/* Lists that must be walked to their ends: even or odd, the last in common. */
static void interleaved_entry(World *w, HvEntry *e)
{
    unsigned parity = below(w, 2);

    for (unsigned i = 0; i < HOSTVLAN_LNIDS_MAX - 1; i++) {
        e->lnid[e->num_lnids++] = 2 + 2 * i + parity;
    }
    if (below(w, 2)) {
        e->lnid[e->num_lnids++] = UINT32_MAX;
    }
}

/* Other MAC addresses of a port, some of which the table knows. */
static void random_also(World *w, uint64_t own, HvEntry *e)
{
    unsigned num = below(w, 4) ? 0 : 1 + below(w, HOSTVLAN_ALSO_MAX);
    uint64_t last = 0;

    for (unsigned i = 0; i < num; i++) {
        uint64_t mac = w->mac[below(w, w->num_macs)];

        if (below(w, 4) == 0) {
            mac ^= 1 << below(w, 24);
        }
        if (mac > last && mac != own && hostvlan_mac_valid(mac)) {
            e->also[e->num_also++] = last = mac;
        }
    }
}

/* Makes a prefix of an address. @low: its least significant word. */
static uint8_t random_prefix(World *w, uint32_t *low)
{
    uint8_t bits = below(w, 4) ? 1 + below(w, 5) : 0;

    *low &= ~((1u << bits) - 1);
    return bits;
}

static void random_entry(World *w, uint64_t mac, HvEntry *e)
{
    unsigned num = random_count(w);
    bool prefixes = below(w, 4);

    memset(e, 0, sizeof(*e));
    if (below(w, 6) == 0) {
        interleaved_entry(w, e);
        return;
    }
    for (unsigned i = 0; i < num; i++) {
        e->lnid[i] = below(w, 40) ? random_lnid(w) : HOSTVLAN_LNID_GLOBAL;
    }
    qsort(e->lnid, num, sizeof(e->lnid[0]), compare_lnids);
    for (unsigned i = 0; i < num; i++) {
        if (i == 0 || e->lnid[i] != e->lnid[e->num_lnids - 1]) {
            e->lnid[e->num_lnids++] = e->lnid[i];
        }
    }
    if (below(w, 2)) {
        e->num_ip4 = below(w, HOSTVLAN_IP4_MAX + 1);
        e->num_ip6 = below(w, HOSTVLAN_IP6_MAX + 1);
    }
    e->offers = below(w, 2) ? 0 : below(w, 4);
    random_also(w, mac, e);
    for (unsigned i = 0; i < e->num_ip4; i++) {
        e->ip4[i] = ADDRESS4 + 2 * i + below(w, 2);
        if (prefixes) {
            e->host_bits4[i] = random_prefix(w, &e->ip4[i]);
        }
    }
    for (unsigned i = 0; i < e->num_ip6; i++) {
        memcpy(e->ip6[i], address6, sizeof(e->ip6[i]));
        e->ip6[i][3] = 2 * i + below(w, 2);
        if (prefixes) {
            e->host_bits6[i] = random_prefix(w, &e->ip6[i][3]);
        }
        if (prefixes && below(w, 4) == 0) {
            memset(e->ip6[i] + 2, 0, 2 * sizeof(e->ip6[i][0]));
            e->ip6[i][1] = 1u << below(w, 32);
            e->host_bits6[i] = 64 + __builtin_ctz(e->ip6[i][1]);
        }
    }
}

static uint64_t random_mac(World *w)
{
    uint64_t mac = (uint64_t)g_rand_int(w->rand) << 32 | g_rand_int(w->rand);

    /* Of one maker, as those of VMs are, or any. */
    return below(w, 2) ? 0x525400000000ull | (mac & 0xffffff) :
                         mac & 0xfeffffffffffull;
}

/* As a writer changes it: in place, if it fits. */
static void change(World *w)
{
    uint64_t mac = w->mac[below(w, w->num_macs)];
    struct hostvlan_slot *slot = hv_slot(w->writer, mac);
    HvEntry e;

    if (slot && below(w, 3) == 0) {
        hv_remove(w->writer, mac);
    } else {
        random_entry(w, mac, &e);
        hv_set(w->writer, mac, &e);
    }
    w->changes++;
}

/* A bit of what the table has for a MAC address is wrong from here on. */
static void damage(World *w)
{
    struct hostvlan_slot *slot = hv_slot(w->writer,
                                         w->mac[below(w, w->num_macs)]);
    uint32_t *record, words = 0;

    if (!slot || !hostvlan_value_valid(slot->key, slot->value)) {
        return;
    }
    record = w->writer->word + hostvlan_value_number(slot->value);
    if (hostvlan_value_kind(slot->value) == HOSTVLAN_VALUE_RECORD) {
        words = hostvlan_record_words(*record);
    }
    if (words && below(w, 2)) {
        record[below(w, words)] ^= 1u << below(w, 32);
    } else if (below(w, 2)) {
        slot->key ^= 1ull << below(w, 64);
    } else {
        slot->value ^= 1ull << below(w, 64);
    }
}

static void drop_table(World *w)
{
    hostvlan_table_close(w->table);
    w->table = NULL;
    if (w->writer) {
        hv_close(w->writer);
        w->writer = NULL;
    }
}

static void new_table(World *w)
{
    static const uint32_t ranges[] = { 2, 3, 8, 100, 0 };
    g_autoptr(GError) err = NULL;
    uint32_t buckets;

    drop_table(w);
    if (below(w, NO_TABLE_EVERY) == 0) {
        put_no_table(&w->twin);
        return;
    }
    w->lnids = ranges[below(w, G_N_ELEMENTS(ranges))];
    w->num_macs = 2 + below(w, MACS_MAX - 1);
    for (unsigned i = 0; i < w->num_macs; i++) {
        w->mac[i] = random_mac(w);
    }
    /* Mostly full, so that searches are long. */
    buckets = below(w, 4) ? 1 + w->num_macs / HOSTVLAN_SLOTS + below(w, 4) :
              1 + below(w, 4096);
    w->writer = hv_create(w->path, buckets, below(w, 1 << 15));
    for (unsigned i = 0; i < w->num_macs; i++) {
        change(w);
    }
    w->table = hostvlan_table_open(w->path, &err);
    if (!w->table) {
        fprintf(stderr, "hostvlan-agree: %s\n", err->message);
        exit(2);
    }
    put_table(&w->twin, w->writer);
    w->tables++;
}

/* --- random frames ------------------------------------------------------ */

/* Another MAC address of the port, if it has one. */
static uint64_t random_other(World *w)
{
    HostvlanRights rights = { 0 };

    if (w->table) {
        hostvlan_table_rights(w->table,
                              hostvlan_table_lookup(w->table, w->port),
                              &rights);
    }
    return rights.num_also ? rights.also[below(w, rights.num_also)] : w->port;
}

static uint64_t random_source(World *w)
{
    uint64_t known = w->mac[below(w, w->num_macs)];

    switch (below(w, 10)) {
    case 0:
        return random_mac(w);
    case 1:
        return known ^ 1ull << below(w, 48);
    case 2:
        return below(w, 2) ? 0 : 0xffffffffffffull;
    case 3:
    case 4:
        return w->port;
    case 5:
        return random_other(w);
    default:
        return known;
    }
}

static uint64_t random_control(World *w)
{
    static const uint64_t near[] = {
        0x0180c2000000ull, 0x0180c2000010ull, 0x0180c2000020ull,
        0x01000cccccc0ull, 0x0180c3000000ull,
    };

    return near[below(w, G_N_ELEMENTS(near))] + below(w, 16);
}

/* Extension headers before the ICMPv6 of an MLD query; returns its length. */
static size_t extend(World *w, uint8_t *frame, size_t ip, size_t len)
{
    static const uint8_t protos[] = { 0, 43, 44, 51, 60, 135, 139, 140, 59 };
    unsigned num = below(w, 12);
    uint8_t rest[128];
    size_t at = ip + 48, tail = MIN(len - at, sizeof(rest));

    memcpy(rest, frame + at, tail);
    for (unsigned i = 0; i < num; i++) {
        uint8_t proto = protos[below(w, G_N_ELEMENTS(protos))];

        /* The one before says what this is; the first is hop-by-hop. */
        hv_put(frame, at - 8, proto, 1);
        memset(frame + at, 0, 8);
        if (proto == 44 && below(w, 4) == 0) {
            hv_put(frame, at + 2, below(w, 2) ? 1 : 8, 2);
        }
        hv_put(frame, at, 58, 1);
        at += 8;
    }
    memcpy(frame + at, rest, tail);
    return at + tail;
}

/* A query, or nearly one. */
static size_t random_query(World *w, uint8_t *frame)
{
    uint64_t source = random_source(w);
    unsigned tags = below(w, 2) ? 0 : below(w, 4);
    unsigned sources = below(w, 3) ? 0 : below(w, 40);
    uint32_t group = below(w, 2) ? 0 : 0xe1020304 + below(w, 4);
    size_t len;

    if (below(w, 2)) {
        len = hv_igmp_query(frame, source, tags, 1 + below(w, 3), group,
                            group ? sources : 0);
    } else {
        len = hv_mld_query(frame, source, tags, 1 + below(w, 2), group,
                           group ? sources : 0);
        if (below(w, 3) == 0) {
            len = extend(w, frame, 14 + 4 * tags, len);
        }
    }
    while (len < 60) {
        frame[len++] = 0;
    }
    if (below(w, 3) == 0) {
        frame[12 + below(w, len - 12)] = g_rand_int(w->rand);
    }
    if (below(w, 4) == 0) {
        frame[12 + below(w, 64)] ^= 1 << below(w, 8);
    }
    if (below(w, 8) == 0) {
        len = IP_FRAME_MIN + below(w, len - IP_FRAME_MIN);
    }
    return len;
}

/* A number of an address in a prefix of so many host bits, or one beside it. */
static uint32_t random_host(World *w, uint32_t host_bits)
{
    uint64_t end = 1ull << host_bits;

    return below(w, 4) ? g_rand_int(w->rand) & (end - 1) : end;
}

/* An address of the port, or another one of those that there are. */
static uint32_t random_ip4(World *w)
{
    HostvlanAddresses own = { 0 };

    if (w->table) {
        hostvlan_table_addresses(w->table,
                                 hostvlan_table_lookup(w->table, w->port),
                                 &own);
    }
    if (below(w, 8) == 0) {
        return 0;
    }
    if (own.num_ip4 && below(w, 4)) {
        unsigned i = below(w, own.num_ip4);

        return own.host_bits4[i] ?
               own.ip4[i] ^ random_host(w, own.host_bits4[i]) : own.ip4[i];
    }
    return ADDRESS4 + below(w, ADDRESSES);
}

static void random_ip6(World *w, uint32_t ip6[4])
{
    HostvlanAddresses own = { 0 };
    uint64_t mac = random_source(w) ^ 0x020000000000ull;

    if (w->table) {
        hostvlan_table_addresses(w->table,
                                 hostvlan_table_lookup(w->table, w->port),
                                 &own);
    }
    memcpy(ip6, address6, 4 * sizeof(ip6[0]));
    switch (below(w, 8)) {
    case 0:
        ip6[0] = 0;
        break;
    case 1:
        ip6[0] = 0xfe800000;
        ip6[1] = 0;
        ip6[2] = mac >> 24 << 8 | 0xff;
        ip6[3] = 0xfe000000 | (mac & 0xffffff);
        break;
    case 2:
        ip6[3] = below(w, ADDRESSES);
        break;
    default:
        if (own.num_ip6) {
            unsigned i = below(w, own.num_ip6), bits = own.host_bits6[i];

            memcpy(ip6, own.ip6[i], 4 * sizeof(ip6[0]));
            if (bits >= 64) {
                ip6[1] ^= random_host(w, bits - 64);
                ip6[2] = g_rand_int(w->rand);
                ip6[3] = g_rand_int(w->rand);
            } else if (bits) {
                ip6[3] ^= random_host(w, bits);
            }
        }
    }
}

/* The port's MAC address, mostly. */
static uint64_t random_sha(World *w)
{
    return below(w, 8) ? w->port : random_source(w);
}

/* Extension headers as @protos, up to ten; the last says @proto. */
static size_t random_extensions(World *w, uint8_t *frame, size_t at,
                                uint8_t proto)
{
    static const uint8_t protos[] = { 0, 43, 44, 51, 60, 135, 139, 140 };
    size_t says = at - 34;      /* in the IPv6 header */

    for (unsigned num = below(w, 4) ? 0 : below(w, 11); num; num--) {
        hv_put(frame, says, protos[below(w, G_N_ELEMENTS(protos))], 1);
        memset(frame + at, 0, 8);
        if (frame[says] == 44) {
            hv_put(frame, at + 2, below(w, 2) ? 1 : 8, 2);
        }
        says = at;
        at += 8;
    }
    hv_put(frame, says, proto, 1);
    return at;
}

static size_t random_ip6_packet(World *w, uint8_t *frame, size_t at)
{
    static const uint8_t headers[] = { 8, 16, 24, 24, 40 };
    unsigned type = below(w, G_N_ELEMENTS(headers));
    uint32_t source[4], target[4];
    size_t ip = at;

    random_ip6(w, source);
    random_ip6(w, target);
    at = hv_ip6(frame, at, 0, 0, source, target);
    at = random_extensions(w, frame, at, below(w, 8) ? 58 : 17);
    at = hv_nd(frame, at, 133 + type, headers[type], target,
               below(w, 8) ? below(w, 3) : below(w, 160), 1 + below(w, 3),
               random_sha(w));
    hv_put(frame, ip + 4, below(w, 8) ? at - ip - 40 : below(w, 100), 2);
    return at;
}

static size_t random_ip4_packet(World *w, uint8_t *frame, size_t at)
{
    memset(frame + at, 0, 40);
    hv_put(frame, at, 0x45000028, 4);
    hv_put(frame, at + 9, 17, 1);
    hv_put(frame, at + 12, random_ip4(w), 4);
    hv_put(frame, at + 16, ADDRESS4, 4);
    return at + 40;
}

/* Tags, and LLC/SNAP with an OUI or another, around a type. */
static size_t random_headers(World *w, uint8_t *frame, uint16_t type)
{
    static const uint64_t snaps[] = {
        0xaaaa030000000000ull, 0xaaaa030000f80000ull, 0xaaaa030000010000ull,
    };
    unsigned tags = below(w, 2) ? 0 : below(w, 4);
    bool snap = below(w, 6) == 0;
    size_t at = hv_ethernet(frame, below(w, 2) ? 0xffffffffffffull :
                            random_mac(w), random_sha(w), tags,
                            snap ? 46 : type);

    return !snap ? at :
           hv_put(frame, at, snaps[below(w, G_N_ELEMENTS(snaps))] | type, 8);
}

/* UDP to clients of DHCP or others, RAs: in fragments, behind headers. */
static size_t random_offer(World *w, uint8_t *frame)
{
    static const uint16_t ports[] = { 67, 68, 546, 547, 69, 0x4402 };
    bool is4 = below(w, 3) == 0;
    size_t ip, at, len, len_at;

    ip = random_headers(w, frame, is4 ? 0x0800 : 0x86dd);
    if (is4) {
        unsigned words = below(w, 4) ? 5 : below(w, 16);

        memset(frame + ip, 0, 80);
        random_ip4_packet(w, frame, ip);
        hv_put(frame, ip, 0x40 | words, 1);
        hv_put(frame, ip + 6, below(w, 4) ? 0 : 1u << below(w, 16), 2);
        at = ip + 4 * words;
        len_at = ip + 2;
    } else {
        uint32_t source[4];

        random_ip6(w, source);
        at = hv_ip6(frame, ip, 0, 0, source, source);
        at = random_extensions(w, frame, at, below(w, 2) ? 58 : 17);
        memset(frame + at, 0, 8);
        hv_put(frame, at, 133 + below(w, 3), 1);
        len_at = ip + 4;
    }
    if (is4 || below(w, 2)) {
        hv_put(frame, at + 2, ports[below(w, G_N_ELEMENTS(ports))], 2);
    }
    len = at + 8;
    hv_put(frame, len_at, below(w, 4) ? len - ip - (is4 ? 0 : 40) :
           below(w, 100), 2);
    while (len < IP_FRAME_MIN + 8) {
        frame[len++] = 0;
    }
    if (below(w, 8) == 0) {
        len = IP_FRAME_MIN + below(w, len - IP_FRAME_MIN);
    }
    return len;
}

/* A DUID-LL, DUID-LLT or another one.  Returns: its end. */
static size_t random_duid(World *w, uint8_t *frame, size_t at)
{
    unsigned type = 1 + below(w, 3);

    at = hv_put(frame, at, type << 16 | (below(w, 8) ? 1 : 6), 4);
    if (type == 1) {
        at = hv_put(frame, at, g_rand_int(w->rand), 4);
    }
    return hv_put(frame, at, random_sha(w), 6);
}

static size_t random_option4(World *w, uint8_t *frame, size_t at)
{
    static const uint8_t types[] = { 1, 3, 4, 7, 8 };
    static const uint8_t options[] = { 0, 50, 53, 61, 61, 12, 52, 255 };
    uint8_t option = options[below(w, below(w, 4) ? 6 : 8)];
    size_t len = at + 1, end = at + 2;

    hv_put(frame, at, option, 1);
    switch (option) {
    case 0:
    case 255:
        return at + 1;
    case 50:
        end = hv_put(frame, end, random_ip4(w), 4);
        break;
    case 53:
        end = hv_put(frame, end, types[below(w, G_N_ELEMENTS(types))], 1);
        break;
    case 61:
        if (below(w, 2)) {
            end = hv_put(frame, end, below(w, 4) ? 1 : 0, 1);
            end = hv_put(frame, end, random_sha(w), 6);
        } else {
            end = random_duid(w, frame, hv_put(frame, end, 255, 1) + 4);
        }
        break;
    default:
        end += below(w, 20);
    }
    hv_put(frame, len, below(w, 16) ? end - at - 2 : below(w, 256), 1);
    return end;
}

/* After the UDP header. */
static size_t random_dhcp4(World *w, uint8_t *frame, size_t at)
{
    unsigned num = below(w, 16) ? below(w, 5) : below(w, 40);

    memset(frame + at, 0, 240);
    hv_put(frame, at, below(w, 16) ? 0x010106 : g_rand_int(w->rand), 3);
    hv_put(frame, at + 12, below(w, 2) ? 0 : random_ip4(w), 4);
    hv_put(frame, at + 24, below(w, 4) ? 0 : ADDRESS4, 4);
    hv_put(frame, at + 28, random_sha(w), 6);
    hv_put(frame, at + 236, below(w, 16) ? 0x63825363 : 0, 4);
    at += 240;
    while (num--) {
        at = random_option4(w, frame, at);
    }
    return below(w, 2) ? at : hv_put(frame, at, 255, 1);
}

static size_t random_option6(World *w, uint8_t *frame, size_t at, bool inner)
{
    static const uint8_t options[] = { 1, 2, 5, 26, 3, 4, 25 };
    uint8_t option = options[below(w, inner ? 4 : 7)];
    size_t len = at + 2, end = at + 4;
    uint32_t ip6[4];

    hv_put(frame, at, option, 2);
    switch (option) {
    case 1:
        end = random_duid(w, frame, end);
        break;
    case 5:
    case 26:
        random_ip6(w, ip6);
        end += option == 26 ? 9 : 0;
        for (unsigned i = 0; i < 4; i++) {
            end = hv_put(frame, end, ip6[i], 4);
        }
        end += option == 26 ? 0 : 8;
        break;
    case 3:
    case 4:
    case 25:
        end += option == 4 ? 4 : 12;
        for (unsigned num = below(w, 3); num; num--) {
            end = random_option6(w, frame, end, true);
        }
        break;
    }
    hv_put(frame, len, below(w, 16) ? end - at - 4 : below(w, 100), 2);
    return end;
}

/* After the UDP header. */
static size_t random_dhcp6(World *w, uint8_t *frame, size_t at)
{
    static const uint8_t types[] = { 1, 3, 8, 8, 8, 9, 11, 12, 20 };

    hv_put(frame, at, types[below(w, G_N_ELEMENTS(types))], 1);
    at += 4;
    for (unsigned num = below(w, 5); num; num--) {
        at = random_option6(w, frame, at, false);
    }
    return at;
}

/* To DHCP servers: of clients, of relay agents, of neither. */
static size_t random_dhcp(World *w, uint8_t *frame)
{
    bool is4 = below(w, 2);
    size_t ip, udp, len;

    memset(frame, 0, FRAME_MAX);
    ip = random_headers(w, frame, is4 ? 0x0800 : 0x86dd);
    if (below(w, 4)) {
        hv_put(frame, 6, w->port, 6);
    }
    if (is4) {
        random_ip4_packet(w, frame, ip);
        hv_put(frame, ip + 6, below(w, 16) ? 0 : 1u << below(w, 16), 2);
        udp = ip + 20;
    } else {
        uint32_t source[4];

        random_ip6(w, source);
        udp = hv_ip6(frame, ip, 0, 0, source, source);
        udp = random_extensions(w, frame, udp, 17);
    }
    hv_put(frame, udp + 2, below(w, 16) == 0 ? below(w, 600) :
           is4 ? 67 : 547, 2);
    len = is4 ? random_dhcp4(w, frame, udp + 8) :
                random_dhcp6(w, frame, udp + 8);
    hv_put(frame, udp + 4, below(w, 16) ? len - udp : below(w, 400), 2);
    hv_put(frame, is4 ? ip + 2 : ip + 4,
           below(w, 16) ? len - ip - (is4 ? 0 : 40) : below(w, 400), 2);
    if (below(w, 16) == 0) {
        frame[12 + below(w, len - 12)] = g_rand_int(w->rand);
    }
    len = MAX(len, IP_FRAME_MIN + 8);
    return below(w, 16) ? len : IP_FRAME_MIN + below(w, len - IP_FRAME_MIN);
}

/* ARP, ND and what else says who sends it, or nearly that. */
static size_t random_sender(World *w, uint8_t *frame)
{
    size_t at, len;

    switch (below(w, 3)) {
    case 0:
        at = random_headers(w, frame, below(w, 8) ? 0x0806 : 0x8035);
        len = hv_arp(frame, at, 1 + below(w, 4), random_sha(w), random_ip4(w),
                     random_ip4(w));
        break;
    case 1:
        at = random_headers(w, frame, 0x0800);
        len = random_ip4_packet(w, frame, at);
        break;
    default:
        at = random_headers(w, frame, 0x86dd);
        len = random_ip6_packet(w, frame, at);
    }
    while (len < IP_FRAME_MIN + 8) {
        frame[len++] = 0;
    }
    if (below(w, 6) == 0) {
        frame[12 + below(w, len - 12)] = g_rand_int(w->rand);
    }
    if (below(w, 8) == 0) {
        len = IP_FRAME_MIN + below(w, len - IP_FRAME_MIN);
    }
    return len;
}

static size_t random_data(World *w, const Program *p, uint8_t *frame)
{
    size_t len = below(w, 16) ? p->frame_min + below(w, 64) :
                 p->frame_min + below(w, FRAME_MAX - p->frame_min + 1);
    size_t whole = MAX(len, IP_FRAME_MIN);
    uint64_t source = random_source(w);
    unsigned type;

    for (size_t i = 0; i < whole; i += 4) {
        uint32_t octets = g_rand_int(w->rand);

        memcpy(frame + i, &octets, MIN(4, whole - i));
    }
    for (int i = 0; i < 6; i++) {
        frame[6 + i] = source >> (40 - 8 * i);
    }
    type = frame[12] << 8 | frame[13];
    return type == ETH_P_IP || type == ETH_P_IPV6 ? whole : len;
}

static size_t random_frame(World *w, const Program *p, uint8_t *frame)
{
    size_t len;

    switch (below(w, 5)) {
    case 0:
        return random_query(w, frame);
    case 1:
        return random_sender(w, frame);
    case 2:
        return random_offer(w, frame);
    }
    if (below(w, 4) == 0) {
        return random_dhcp(w, frame);
    }
    len = random_data(w, p, frame);
    if (below(w, 8) == 0) {
        hv_put(frame, 0, random_control(w), 6);
    }
    return len;
}

static void new_port(World *w)
{
    switch (below(w, 16)) {
    case 0:
        w->port = random_mac(w);
        break;
    case 1:
        w->port = below(w, 2) ? 0 : 0x010000000000ull | random_mac(w);
        break;
    default:
        w->port = w->mac[below(w, w->num_macs)];
    }
    w->l2_control = below(w, 4) == 0;
    w->check_sender = below(w, 2);
    w->guards = below(w, 4);
    put_port(w);
}

/* --- both of them ------------------------------------------------------- */

static void G_GNUC_NORETURN differ(const World *w, const Program *p,
                                   const uint8_t *frame,
                                   enum hostvlan_reason core, uint32_t said,
                                   const struct hostvlan_counters *now)
{
    fprintf(stderr,
            "hostvlan-agree: port %012" G_GINT64_MODIFIER "x, source %012"
            G_GINT64_MODIFIER "x, table %lu: the core says %s, %s returned "
            "%d and has counted", w->port, hostvlan_mac(frame + 6), w->tables,
            hostvlan_reason_name(core), p->name, (int)said);
    for (int d = 0; d < HOSTVLAN_DIRECTIONS; d++) {
        for (int r = 0; r < HOSTVLAN_REASONS; r++) {
            if (now->frames[d][r] != w->twin.before.frames[d][r]) {
                fprintf(stderr, " %s/%s", d == HOSTVLAN_SEND ? "send" :
                        "receive", hostvlan_reason_name(r));
            }
        }
    }
    fprintf(stderr, "\n");
    exit(1);
}

/* @reason: for the addresses of the frame's source, @own */
static void count_prefixes(World *w, const uint8_t *frame, size_t len,
                           HostvlanAddresses own, enum hostvlan_reason reason)
{
    static const uint8_t none[HOSTVLAN_IP6_MAX];
    size_t fixed;

    if (memcmp(own.host_bits4, none, own.num_ip4) == 0 &&
        memcmp(own.host_bits6, none, own.num_ip6) == 0) {
        return;
    }
    w->outside += reason == HOSTVLAN_FORGED_ADDRESS;
    memset(own.host_bits4, 0, sizeof(own.host_bits4));
    memset(own.host_bits6, 0, sizeof(own.host_bits6));
    w->inside += reason == HOSTVLAN_PASSED &&
                 hostvlan_sender_check(frame, len, len,
                                       hostvlan_mac(frame + 6), &own,
                                       &fixed) == HOSTVLAN_FORGED_ADDRESS;
}

/* As -netdev hostvlan does it. */
static enum hostvlan_reason sent(World *w, const uint8_t *frame, size_t len)
{
    uint64_t source = hostvlan_mac(frame + 6);
    HostvlanAddresses own;
    HostvlanRights rights;
    size_t fixed, checksum;
    enum hostvlan_reason reason =
        hostvlan_verdict_send(w->table, w->port, w->l2_control, frame, len,
                              &fixed);

    if (reason == HOSTVLAN_PASSED) {
        reason = hostvlan_verdict_offer(w->table, w->port, w->guards, frame,
                                        len, len, &fixed);
    }
    if (reason != HOSTVLAN_PASSED || !w->check_sender) {
        return reason;
    }
    if (!hostvlan_table_addresses(w->table,
                                  hostvlan_table_lookup(w->table, source),
                                  &own)) {
        return HOSTVLAN_DAMAGED;
    }
    reason = hostvlan_sender_check(frame, len, len, source, &own, &fixed);
    count_prefixes(w, frame, len, own, reason);
    if (reason != HOSTVLAN_PASSED) {
        return reason;
    }
    reason = hostvlan_sender_dhcp(frame, len, len, source, &own, &fixed,
                                  &checksum);
    if (reason != HOSTVLAN_PASSED &&
        hostvlan_table_rights(w->table, hostvlan_table_lookup(w->table, source),
                              &rights) && rights.offers & HOSTVLAN_OFFER_DHCP) {
        w->relayed++;
        return HOSTVLAN_PASSED;
    }
    w->leases += checksum && reason == HOSTVLAN_PASSED;
    w->stolen += reason == HOSTVLAN_FORGED_ADDRESS;
    return reason;
}

static void judge(World *w)
{
    const Program *p = &programs[below(w, G_N_ELEMENTS(programs))];
    struct hostvlan_counters now, expected = w->twin.before;
    uint8_t frame[FRAME_MAX];
    size_t len = random_frame(w, p, frame);
    enum hostvlan_reason reason = p->direction == HOSTVLAN_SEND ?
        sent(w, frame, len) :
        hostvlan_verdict_receive(w->table, w->port, frame, len, len);
    uint32_t said = run(&w->twin, p, frame, len);

    sum_up(&w->twin, &now);
    expected.frames[p->direction][reason]++;
    if (said != (reason == HOSTVLAN_PASSED ? p->pass : p->refuse) ||
        memcmp(&now, &expected, sizeof(now))) {
        differ(w, p, frame, reason, said, &now);
    }
    if (p->direction == HOSTVLAN_RECEIVE && reason == HOSTVLAN_PASSED &&
        !hostvlan_table_lookup(w->table, hostvlan_mac(frame + 6))) {
        w->queries++;
    }
    if (p->direction == HOSTVLAN_SEND && reason == HOSTVLAN_PASSED &&
        hostvlan_mac(frame + 6) != w->port) {
        w->others++;
    }
    w->twin.before = now;
    w->seen[p->direction][reason]++;
}

static void one_round(World *w, unsigned long frames)
{
    new_table(w);
    for (unsigned long i = 0; i < frames; i++) {
        if (i % PORT_FRAMES == 0) {
            new_port(w);
        }
        if (w->table && below(w, CHANGE_EVERY) == 0) {
            change(w);
            if (below(w, DAMAGE_EVERY) == 0) {
                damage(w);
            }
            memcpy(w->twin.copy, w->writer->header, w->writer->size);
        }
        judge(w);
    }
}

/* Prints what happened; returns whether enough of everything did. */
static bool report(const World *w, unsigned long frames)
{
    static const bool possible[HOSTVLAN_DIRECTIONS][HOSTVLAN_REASONS] = {
        [HOSTVLAN_SEND] = {
            [HOSTVLAN_PASSED] = true, [HOSTVLAN_SPOOFED] = true,
            [HOSTVLAN_NO_TABLE] = true, [HOSTVLAN_NO_PORT] = true,
            [HOSTVLAN_L2_CONTROL] = true, [HOSTVLAN_QUERY] = true,
            [HOSTVLAN_MALFORMED] = true, [HOSTVLAN_FORGED_ADDRESS] = true,
            [HOSTVLAN_RA_GUARD] = true, [HOSTVLAN_DHCP_GUARD] = true,
        },
        [HOSTVLAN_RECEIVE] = {
            [HOSTVLAN_PASSED] = true, [HOSTVLAN_UNKNOWN_SOURCE] = true,
            [HOSTVLAN_OTHER_TENANT] = true, [HOSTVLAN_NO_TABLE] = true,
            [HOSTVLAN_NO_PORT] = true, [HOSTVLAN_DAMAGED] = true,
        },
    };
    bool enough = w->queries >= EACH_REASON && w->others >= EACH_REASON &&
                  w->inside >= EACH_REASON && w->outside >= EACH_REASON &&
                  w->leases >= EACH_REASON && w->stolen >= EACH_REASON &&
                  w->relayed >= EACH_REASON / 2;

    printf("%lu frames, %lu tables, %lu changes in place, 0 differences\n"
           "  %lu queries passed from unknown sources\n"
           "  %lu frames passed with another MAC address of the port\n"
           "  %lu passed by a prefix, %lu were forged beside one\n"
           "  %lu passed to DHCP servers, %lu by a right, %lu were forged\n",
           frames, w->tables, w->changes, w->queries, w->others, w->inside,
           w->outside, w->leases, w->relayed, w->stolen);
    for (int d = 0; d < HOSTVLAN_DIRECTIONS; d++) {
        for (int r = 0; r < HOSTVLAN_REASONS; r++) {
            if (possible[d][r] || w->seen[d][r]) {
                printf("  %-8s %-16s %" G_GUINT64_FORMAT "\n",
                       d == HOSTVLAN_SEND ? "send" : "receive",
                       hostvlan_reason_name(r), w->seen[d][r]);
            }
            enough &= !possible[d][r] || w->seen[d][r] >= EACH_REASON;
        }
    }
    return enough;
}

int main(int argc, char **argv)
{
    g_autofree char *folder = g_dir_make_tmp("hostvlan-agree-XXXXXX", NULL);
    World w = { 0 };
    unsigned long frames, done;

    if (argc != 4) {
        fprintf(stderr, "usage: hostvlan-agree hostvlan.bpf.o FRAMES SEED\n");
        return 2;
    }
    frames = g_ascii_strtoull(argv[2], NULL, 10);
    w.rand = g_rand_new_with_seed(g_ascii_strtoull(argv[3], NULL, 10));
    w.path = g_build_filename(folder, "table", NULL);
    w.num_macs = 1;
    load(&w.twin, argv[1]);
    for (done = 0; done < frames; done += MIN(ROUND, frames - done)) {
        one_round(&w, MIN(ROUND, frames - done));
    }
    drop_table(&w);
    g_unlink(w.path);
    g_rmdir(folder);
    if (!report(&w, frames)) {
        fprintf(stderr, "hostvlan-agree: something happened too seldom\n");
        return 1;
    }
    return 0;
}
