/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the fast path of vmmnet-ha do what the agent does?
 *
 *   mip6-fast-agree fast.bpf.o PACKETS SEED
 *
 * Random packets, some with wrong octets, go to the agent (ha/agent)
 * and, by BPF_PROG_TEST_RUN, to the program that the kernel has in its place.
 * What the program sends must be what the agent sends, octet for octet, and be
 * counted once, of the right binding; else the packet must be as it was. Of
 * packets without anything odd none may be left. Bindings begin, move and end
 * between the packets, paths and the configuration change. The first difference
 * ends it with status 1.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <linux/pkt_cls.h>

#include "base/octets.h"
#include "ha/host/fast.h"
#include "net/packet/nd.h"
#include "net/packet/tcp.h"
#include "tests/fixtures/mip6-agent-fixture.h"

#define ETH_LEN         14u     /* BPF_PROG_TEST_RUN wants an Ethernet frame */
#define ROOM            4096u
#define HOMES           6u
#define PLACES          4u
#define CHANGE_EVERY    16u     /* packets, on average */
#define EACH            500u    /* of each kind, for the test to be one */
#define PROTECTED       0u      /* the home address with keys */

static const char *const homes[HOMES] = {
    "2001:db8:2000::10", "2001:db8:2000::11", "2001:db8:2000::12",
    "2001:db8:2000::13", "2001:db8:2000::14", "2001:db8:2000::15",
};
static const char *const places[PLACES] = {
    "2001:db8:3000::a", "2001:db8:3000::b", "2001:db8:4000::a",
    /* A node may be away from one home at another. */
    "2001:db8:2000::15",
};
static const char *const others[] = {
    FAR, AGENT, "fe80::1", "ff05::7", "::", "2001:db8:2000::99",
};

typedef struct World {
    GRand *rand;
    Mip6Agent agent;
    Mip6Fast *fast;
    uint16_t sequence;
    unsigned packets;           /* that the agent sent now */
    uint8_t packet[ROOM];       /* the last one */
    size_t len;
    bool usual;                 /* nothing is odd about the packet */
    unsigned long into, out, left, changes;
} World;

static void G_GNUC_NORETURN die(const char *what, int error)
{
    fprintf(stderr, "mip6-fast-agree: %s: %s\n", what, strerror(error));
    exit(2);
}

static uint32_t below(World *w, uint32_t end)
{
    return g_rand_int_range(w->rand, 0, end);
}

/* Something odd, once in @times. */
static bool oddly(World *w, uint32_t times)
{
    bool odd = below(w, times) == 0;

    w->usual &= !odd;
    return odd;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

/* --- the agent's host ----------------------------------------------------- */

static void forward(void *opaque, const void *packet, size_t len)
{
    World *w = opaque;

    memcpy(w->packet, packet, MIN(len, sizeof(w->packet)));
    w->len = len;
    w->packets++;
}

static bool proxy(void *opaque, const struct in6_addr *home, bool on)
{
    return true;
}

static void let_pass(void *opaque, const Mip6AgentPass *pass)
{
    World *w = opaque;

    mip6_fast_let_pass(w->fast, pass);
}

static void stop_pass(void *opaque, const struct in6_addr *home)
{
    World *w = opaque;

    mip6_fast_stop(w->fast, home);
}

static bool passed(void *opaque, const struct in6_addr *home,
                   Mip6AgentPassed *packets)
{
    World *w = opaque;

    *packets = mip6_fast_passed(w->fast, home);
    return true;
}

static const Mip6AgentOps ops = {
    .forward = forward,
    .proxy = proxy,
    .let_pass = let_pass,
    .stop_pass = stop_pass,
    .passed = passed,
};

static void begin(World *w, const char *file)
{
    Mip6ProtectConfig keys = agent_protect(false, 0);
    struct in6_addr address = agent_address(AGENT);
    struct in6_addr protected = agent_address(homes[PROTECTED]);
    Mip6AgentConfig config = agent_usual_config();
    g_autoptr(GError) err = NULL;
    g_autofree char *program = NULL;
    Mip6ProtectFault fault;
    gsize len;

    if (!g_file_get_contents(file, &program, &len, &err)) {
        fprintf(stderr, "mip6-fast-agree: %s\n", err->message);
        exit(2);
    }
    w->fast = mip6_fast_load(program, len, &address, ETH_LEN, HOMES, UINT32_MAX,
                             &err);
    if (!w->fast) {
        fprintf(stderr, "mip6-fast-agree: %s\n", err->message);
        exit(2);
    }
    config.bindings_max = HOMES;
    config.keys = mip6_keyring_new();
    mip6_keyring_add(config.keys, &protected, &keys, &fault);
    mip6_agent_init(&w->agent, &config, &ops, w);
}

/* --- what changes between packets ----------------------------------------- */

static void update(World *w, unsigned home, uint16_t lifetime)
{
    const char *place = places[below(w, PLACES)];
    Mip6Mh bu = {
        .type = MIP6_MH_BU, .sequence = ++w->sequence,
        .flags = MIP6_BU_HOME, .lifetime = lifetime,
    };
    uint8_t packet[512];
    size_t len = agent_build_update(packet, homes[home], place, &bu);

    mip6_agent_packet(&w->agent, now(), packet, len);
}

/* Some are over before a packet comes, and the agent has not noticed. */
static void restore(World *w, unsigned home)
{
    Mip6AgentBinding b = {
        .home = agent_address(homes[home]),
        .care_of = agent_address(places[below(w, PLACES)]),
        .sequence = ++w->sequence,
        .lifetime = 15,
        .expires = now() + (below(w, 4) ? 60 : -1) * SECOND,
    };

    if (!mip6_agent_binding(&w->agent, &b.home)) {
        mip6_agent_restore(&w->agent, now(), &b);
    }
}

static void configure(World *w)
{
    Mip6AgentConfig config = w->agent.config;

    config.mtu = 1320 + below(w, 2048 - 1320 + 1);
    mip6_agent_configure(&w->agent, now(), &config);
}

/* A router on the path of a node says that packets are too big. */
static void narrow(World *w, unsigned home)
{
    struct in6_addr router = agent_address("2001:db8:3000::ffff");
    uint8_t packet[ROOM], error[PACKET_IP6_MTU_MIN];
    size_t len = agent_build_packet(packet, FAR, homes[home],
                                    1240 + below(w, 300));

    w->packets = 0;
    mip6_agent_packet(&w->agent, now(), packet, len);
    /* It is believed of a packet that has not fitted. */
    if (w->packets == 1 && w->len > PACKET_IP6_MTU_MIN) {
        len = packet_icmp6_error(error, sizeof(error), &router, 64,
                                 PACKET_ICMP6_TOO_BIG, 0, PACKET_IP6_MTU_MIN +
                                 below(w, w->len - PACKET_IP6_MTU_MIN),
                                 w->packet, w->len);
        mip6_agent_packet(&w->agent, now(), error, len);
    }
}

static void change(World *w)
{
    unsigned home = below(w, HOMES);

    w->changes++;
    switch (below(w, 16)) {
    case 0:
        configure(w);
        break;
    case 1:
    case 2:
        narrow(w, home);
        break;
    case 3:
        update(w, home, 0);
        break;
    case 4:
        mip6_agent_tick(&w->agent, now());
        break;
    case 5:
    case 6:
    case 7:
        restore(w, home);
        break;
    default:
        update(w, home, 15);
        break;
    }
}

/* --- random packets ------------------------------------------------------- */

static uint8_t random_next(World *w)
{
    static const uint8_t usual[] = { 6, 17, 58, 59, 50, 44, 60, 132 };
    static const uint8_t odd[] = { 0, 41, 43, 135 };

    return oddly(w, 8) ? odd[below(w, G_N_ELEMENTS(odd))]
                       : usual[below(w, G_N_ELEMENTS(usual))];
}

/* A header in front of @payload octets that are there. Returns octets. */
static size_t random_header(World *w, uint8_t *p, const char *src,
                            const char *dst, uint8_t next, size_t payload)
{
    PacketIp6 ip = {
        .src = agent_address(src), .dst = agent_address(dst), .next = next,
        .hops = oddly(w, 16) ? below(w, 3) : 2 + below(w, 254),
        .tclass = below(w, 64) << 2, .flow = below(w, 1 << 20),
        .payload = payload,
    };

    return packet_ip6_build(p, &ip) + payload;
}

static const Mip6AgentBinding *binding(const World *w, unsigned home)
{
    struct in6_addr addr = agent_address(homes[home]);

    return mip6_agent_binding(&w->agent, &addr);
}

/* May its packets pass? */
static bool is_fast(const World *w, unsigned home)
{
    const Mip6AgentBinding *b = binding(w, home);

    return b && home != PROTECTED && b->expires > now() + SECOND;
}

/* For TCP it begins with a header and an MSS. */
static size_t random_payload(World *w, uint8_t *p)
{
    size_t len = below(w, 3) ? below(w, 200) : below(w, 1600);

    for (size_t i = 0; i < len; i++) {
        p[i] = g_rand_int(w->rand);
    }
    if (len >= PACKET_TCP_LEN + 4) {
        p[12] = (PACKET_TCP_LEN + 4) << 2;
        memcpy(p + PACKET_TCP_LEN, (uint8_t[]) { 2, 4, 0x05, below(w, 256) },
               4);
    }
    return len;
}

static bool is_syn(const uint8_t *ip, size_t len)
{
    return len > PACKET_IP6_LEN + PACKET_TCP_FLAGS &&
           ip[6] == PACKET_PROTO_TCP &&
           ip[PACKET_IP6_LEN + PACKET_TCP_FLAGS] & PACKET_TCP_SYN;
}

static size_t for_home(World *w, uint8_t *p)
{
    unsigned home = below(w, HOMES);
    const char *src = oddly(w, 8) ? others[1 + below(w, 5)] : FAR;
    size_t len = random_payload(w, p + PACKET_IP6_LEN);

    w->usual &= is_fast(w, home);
    /* The narrowest path has room for this. */
    w->usual &= PACKET_IP6_LEN + len <= PACKET_IP6_MTU_MIN - PACKET_IP6_LEN;
    len = random_header(w, p, src, homes[home], random_next(w), len);
    p[1] ^= below(w, 4) << 4;   /* ECN */
    w->usual &= !is_syn(p, len);
    return len;
}

/* Explicit congestion notification that the agent may leave as it is. */
static void random_ecn(World *w, uint8_t *outer, uint8_t *inner)
{
    unsigned ecn = below(w, 4);

    inner[1] ^= ecn << 4;
    if (oddly(w, 8)) {
        ecn = below(w, 4);
    }
    outer[1] ^= ecn << 4;
}

/* The care-of address of the binding, mostly. */
static const char *random_place(World *w, unsigned home,
                                char text[INET6_ADDRSTRLEN])
{
    const Mip6AgentBinding *b = binding(w, home);

    if (b && !oddly(w, 8)) {
        return inet_ntop(AF_INET6, &b->care_of, text, INET6_ADDRSTRLEN);
    }
    w->usual = false;
    return places[below(w, PLACES)];
}

static size_t from_node(World *w, uint8_t *p)
{
    char text[INET6_ADDRSTRLEN];
    unsigned home = below(w, HOMES);
    bool odd_dst = oddly(w, 6);
    const char *dst = odd_dst ? others[below(w, G_N_ELEMENTS(others))] : FAR;
    const char *src = oddly(w, 16) ? FAR : homes[home];
    const char *place = random_place(w, home, text);
    size_t extension = oddly(w, 16) ? 8 : 0;
    uint8_t *inner = p + PACKET_IP6_LEN + extension, next = 41;
    size_t len = random_payload(w, inner + PACKET_IP6_LEN);

    len = extension + random_header(w, inner, src, dst, random_next(w), len);
    w->usual &= !is_syn(inner, len - extension);
    if (extension) {
        memcpy(p + PACKET_IP6_LEN, (uint8_t[]) { 41, 0, 1, 4, 0, 0, 0, 0 }, 8);
        next = PACKET_PROTO_DSTOPTS;
    } else if (oddly(w, 16)) {
        next = random_next(w);
    }
    w->usual &= is_fast(w, home);
    len = random_header(w, p, place, AGENT, next, len);
    random_ecn(w, p, inner);
    return len;
}

/* A wrong octet, a wrong bit, or a wrong length. */
static size_t mutate(World *w, uint8_t *p, size_t len)
{
    if (!oddly(w, 4)) {
        return len;
    }
    switch (below(w, 4)) {
    case 0:
        p[below(w, MIN(len, 100))] = g_rand_int(w->rand);
        break;
    case 1:
        p[below(w, MIN(len, 100))] ^= 1 << below(w, 8);
        break;
    case 2:
        put_be16(p + 4, get_be16(p + 4) + below(w, 9) - 4);
        break;
    default:
        len = below(w, 2) ? PACKET_IP6_LEN + below(w, len - 39) :
                            len + below(w, 20);
        break;
    }
    return len;
}

/* --- both of them --------------------------------------------------------- */

static void G_GNUC_NORETURN differ(const World *w, const char *how,
                                   const uint8_t *p, size_t len, int said)
{
    fprintf(stderr, "mip6-fast-agree: %s: the program returned %d, the agent "
            "sent %u packets, of\n", how, said, w->packets);
    for (size_t i = 0; i < MIN(len, 100); i++) {
        fprintf(stderr, "%02x%s", p[i], i % 20 == 19 ? "\n" : " ");
    }
    fprintf(stderr, "\n%zu octets\n", len);
    exit(1);
}

static Mip6AgentPassed run_agent(World *w, const uint8_t *p, size_t len)
{
    Mip6AgentPassed before = { w->agent.sent, w->agent.received };
    uint8_t copy[ROOM];

    w->packets = 0;
    memcpy(copy, p, len);
    mip6_agent_packet(&w->agent, now(), copy, len);
    return (Mip6AgentPassed) {
        w->agent.sent - before.sent, w->agent.received - before.received,
    };
}

/* Returns what the program says; the packet that is then is at @out. */
static int run_program(World *w, const uint8_t *p, size_t *len, uint8_t *out)
{
    uint8_t frame[ROOM] = { [12] = 0x86, [13] = 0xdd }, then[ROOM];
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame,
                .data_size_in = ETH_LEN + *len, .data_out = then,
                .data_size_out = sizeof(then), .repeat = 1);

    memcpy(frame + ETH_LEN, p, *len);
    if (bpf_prog_test_run_opts(mip6_fast_fd(w->fast), &options)) {
        die("running the program", errno);
    }
    if (memcmp(frame, then, ETH_LEN)) {
        differ(w, "the Ethernet header has changed", p, *len, options.retval);
    }
    *len = options.data_size_out - ETH_LEN;
    memcpy(out, then + ETH_LEN, *len);
    return options.retval;
}

static bool same(const Mip6AgentPassed *a, const Mip6AgentPassed *b,
                 const Mip6AgentPassed *more)
{
    return a->sent + more->sent == b->sent &&
           a->received + more->received == b->received;
}

static bool changes_ecn(unsigned outer, unsigned inner)
{
    /* RFC 6040 section 4.2: CE anywhere, ECT(1) on ECT(0) */
    return (outer == 3 && inner != 3) || (outer == 1 && inner == 2);
}

/*
 * Is the packet one that the agent must have seen? These look as if they could
 * pass, or the agent itself does not tell them from others.
 */
static const char *forbidden(const World *w, const uint8_t *p, size_t len,
                             bool into, const struct in6_addr *home,
                             int64_t before)
{
    const Mip6AgentBinding *b = mip6_agent_binding(&w->agent, home);
    const uint8_t *inner = p + PACKET_IP6_LEN;
    const struct in6_addr *agent = &w->agent.config.address;

    if (!b || b->expires <= before) {
        return "it has passed by a binding that is over";
    }
    if (p[7] <= 1 || (!into && inner[7] <= 1)) {
        return "it has passed with its last hop";
    }
    if (!memcmp(into ? p + 8 : inner + 24, agent, sizeof(*agent))) {
        return "it has passed, of the agent, or to it";
    }
    if (into ? is_syn(p, len) : is_syn(inner, len - PACKET_IP6_LEN)) {
        return "it has passed, a SYN whose MSS the agent lowers";
    }
    if (!into && changes_ecn(p[1] >> 4 & 3, inner[1] >> 4 & 3)) {
        return "it has passed with a mark that it lost";
    }
    return NULL;
}

static void judge(World *w, const uint8_t *p, size_t len)
{
    static const Mip6AgentPassed nothing;
    uint8_t out[ROOM];
    struct in6_addr home;
    bool into = memcmp(p + 24, &w->agent.config.address, 16);
    Mip6AgentPassed all = mip6_fast_passed(w->fast, NULL), one, more, then;
    const char *why_not;
    int64_t before = now();
    size_t out_len = len;
    int said;

    /* It is the inner source that may be a home address. */
    memcpy(&home, into ? p + 24 : p + PACKET_IP6_LEN + 8, 16);
    one = mip6_fast_passed(w->fast, &home);
    said = run_program(w, p, &out_len, out);
    more = run_agent(w, p, len);
    then = mip6_fast_passed(w->fast, NULL);
    if (said == TC_ACT_UNSPEC) {
        w->left++;
        if (out_len != len || memcmp(p, out, len)) {
            differ(w, "what is left has changed", p, len, said);
        } else if (!same(&all, &then, &nothing)) {
            differ(w, "what is left was counted", p, len, said);
        } else if (w->usual) {
            differ(w, "nothing is odd, but it was left", p, len, said);
        }
        return;
    }
    why_not = forbidden(w, p, len, into, &home, before);
    if (why_not) {
        differ(w, why_not, p, len, said);
    }
    if (said != TC_ACT_REDIRECT || w->packets != 1 || w->len != out_len ||
        memcmp(w->packet, out, out_len)) {
        differ(w, "it does not send what the agent sends", p, len, said);
    }
    if (!same(&all, &then, &more)) {
        differ(w, "it does not count as the agent does", p, len, said);
    }
    then = mip6_fast_passed(w->fast, &home);
    if (!same(&one, &then, &more)) {
        differ(w, "it was not counted of its binding", p, len, said);
    }
    w->into += into;
    w->out += !into;
}

int main(int argc, char **argv)
{
    World w = { .usual = true };
    uint8_t p[ROOM];
    unsigned long packets;

    if (argc != 4) {
        fprintf(stderr, "usage: mip6-fast-agree fast.bpf.o PACKETS SEED\n");
        return 2;
    }
    packets = g_ascii_strtoull(argv[2], NULL, 10);
    w.rand = g_rand_new_with_seed(g_ascii_strtoull(argv[3], NULL, 10));
    begin(&w, argv[1]);
    for (unsigned long i = 0; i < packets; i++) {
        size_t len;

        if (below(&w, CHANGE_EVERY) == 0) {
            change(&w);
        }
        memset(p, 0, sizeof(p));
        w.usual = true;
        len = below(&w, 2) ? for_home(&w, p) : from_node(&w, p);
        judge(&w, p, mutate(&w, p, len));
    }
    printf("%lu packets, %lu changes, 0 differences: %lu into tunnels, %lu out "
           "of them, %lu left\n", packets, w.changes, w.into, w.out, w.left);
    if (w.into < EACH || w.out < EACH || w.left < EACH) {
        fprintf(stderr, "mip6-fast-agree: something happened too seldom\n");
        return 1;
    }
    return 0;
}
