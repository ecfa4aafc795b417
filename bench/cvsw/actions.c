/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of a frame in the switch of a NIC, action by action
 *
 *   actions ROUNDS
 *
 * A traffic generator drives both sides of hw/net/cvsw/run, without a guest and
 * without a wire.  Each result is a line of JSON on stdout:
 *
 *   actions   nanoseconds a frame, for each list of actions and frame length
 *   seal      Gbit/s of ESP's core, beside libcrypto alone with the same octets
 *   pairs     Gbit/s of 1, 2 and 4 switches together, each in its own thread
 */
#include <arpa/inet.h>
#include <glib.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/octets.h"
#include "hw/net/cvsw/run/run.h"
#include "net/packet/ip4.h"
#include "net/packet/sum.h"
#include "net/packet/tcp.h"

enum {
    ROUNDS_MAX = 100,
    KEY_LEN = 20,
    SPI = 4096,
    VNI = 100,
    SUPER = 65226,              /* a guest's large segment */
    MSS = 1386,
    SEAL = 1400,
    PAIRS_MAX = 4,
};
#define WORK_NS 60000000.0      /* of one measurement */

static const uint8_t mac_a[6] = { 2, 0, 0, 0, 0, 0xa };
static const uint8_t mac_b[6] = { 2, 0, 0, 0, 0, 0xb };

typedef struct Nic {
    CvswRun run;
    uint64_t octets;            /* that left */
    unsigned frames;
    uint8_t kept[2048];         /* the last one */
    size_t kept_len;
} Nic;

typedef struct Frame {
    uint8_t data[SUPER + 100];
    size_t len;
    uint32_t port;
    PacketOffload offload;
} Frame;

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void emit(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    Nic *nic = opaque;

    nic->frames++;
    nic->octets += packet_iov_len(iov, parts);
}

static void keep(void *opaque, uint32_t port, const struct iovec *iov,
                 int parts, const PacketOffload *offload)
{
    Nic *nic = opaque;

    nic->kept_len = packet_iov_copy(iov, parts, 0, nic->kept,
                                    sizeof(nic->kept));
}

static void punt(void *opaque, const CvswFrame *frame, uint32_t in_port,
                 uint16_t max_len, const CvswEntry *entry)
{
    g_assert_not_reached();
}

static Nic *nic_new(void)
{
    Nic *nic = g_new0(Nic, 1);

    nic->run.table = cvsw_table_new(64, 16, 1, NULL, NULL);
    nic->run.sas = cvsw_sas_new();
    nic->run.emit = emit;
    nic->run.punt = punt;
    nic->run.opaque = nic;
    return nic;
}

static void nic_free(Nic *nic)
{
    cvsw_table_free(nic->run.table);
    cvsw_sas_free(nic->run.sas);
    g_free(nic);
}

/* --- flows ---------------------------------------------------------------- */

static CvswAction with_number(CvswActionType type, uint32_t number)
{
    return (CvswAction) { .type = type, .number = number };
}

static CvswAction output(uint32_t port)
{
    CvswAction a = { .type = CVSW_ACTION_OUTPUT };

    a.output.port = port;
    return a;
}

static CvswAction encap(bool is_ip6)
{
    CvswAction a = { .type = CVSW_ACTION_TUNNEL_ENCAP };
    int family = is_ip6 ? AF_INET6 : AF_INET;

    a.tunnel.is_ip6 = is_ip6;
    a.tunnel.vni = VNI;
    a.tunnel.port = 4789;
    memcpy(a.tunnel.local_mac, mac_a, 6);
    memcpy(a.tunnel.remote_mac, mac_b, 6);
    inet_pton(family, is_ip6 ? "2001:db8::a" : "192.0.2.10", a.tunnel.local);
    inet_pton(family, is_ip6 ? "2001:db8::b" : "192.0.2.11", a.tunnel.remote);
    return a;
}

static void number_field(CvswMatch *match, CvswField field, uint64_t number)
{
    size_t octets = cvsw_field_octets(field);
    CvswValue value = { { 0 } };

    for (size_t i = 0; i < octets; i++) {
        value.octets[octets - 1 - i] = number >> 8 * i;
    }
    g_assert(cvsw_match_add(match, field, &value, NULL) == CVSW_MATCH_OK);
}

static void add_flow(Nic *nic, uint16_t priority, CvswField field,
                     uint64_t value, const CvswAction *actions, unsigned num)
{
    g_autofree CvswFlowMod *mod = g_new0(CvswFlowMod, 1);

    mod->command = CVSW_ADD;
    mod->priority = priority;
    mod->out_port = CVSW_ANY_PORT;
    mod->actions_len = num;
    memcpy(mod->actions, actions, num * sizeof(*actions));
    number_field(&mod->match, field, value);
    g_assert(cvsw_table_mod(nic->run.table, mod, 0) == CVSW_FLOW_OK);
}

/* Without a replay window, so that the same packet can be opened many times. */
static void add_sa(Nic *nic, EspDirection direction)
{
    uint8_t key[KEY_LEN] = { 7 };
    EspSaConfig config = {
        .algorithm = esp_algorithm_by_name("aes-gcm-128"),
        .direction = direction,
        .spi = SPI,
        .epoch = 1,
        .key = key,
        .key_len = sizeof(key),
    };

    g_assert(cvsw_sas_set(nic->run.sas, 1, &config, NULL) == CVSW_SAS_OK);
}

/* --- frames --------------------------------------------------------------- */

/* TCP over IPv4 of @len octets; the guest has left the checksum to the NIC. */
static void make_tcp(Frame *f, size_t len)
{
    uint8_t *l3 = f->data + PACKET_ETH_LEN, *l4 = l3 + PACKET_IP4_LEN;
    size_t l4_len = len - PACKET_ETH_LEN - PACKET_IP4_LEN;
    PacketIp4 ip = { .ttl = 64, .protocol = 6, .total = len - PACKET_ETH_LEN,
                     .src = { htonl(0x0a000001) },
                     .dst = { htonl(0x0a000002) } };

    memset(f, 0, sizeof(*f));
    f->len = len;
    f->port = CVSW_PORT_GUEST;
    packet_eth_build(f->data, mac_b, mac_a, PACKET_ETH_IP4);
    packet_ip4_build(l3, &ip);
    put_be16(l4, 1000);
    put_be16(l4 + 2, 2000);
    l4[12] = 5 << 4;
    l4[13] = PACKET_TCP_ACK;
    put_be16(l4 + PACKET_TCP_CHECKSUM,
             packet_sum_partial(packet_sum_pseudo(l3, 6, l4_len)));
    f->offload.needs_csum = true;
    f->offload.csum_start = l4 - f->data;
    f->offload.csum_offset = PACKET_TCP_CHECKSUM;
    if (l4_len - PACKET_TCP_LEN > MSS) {
        f->offload.gso = PACKET_GSO_TCP4;
        f->offload.gso_size = MSS;
    }
}

static void put_in(Nic *nic, Frame *f)
{
    struct iovec iov = { f->data, f->len };

    cvsw_run(&nic->run, f->port, &iov, 1, &f->offload, 0);
}

/* --- cases ---------------------------------------------------------------- */

static void to_wire(Nic *nic, const CvswAction *first, unsigned num)
{
    CvswAction list[8];

    memcpy(list, first, num * sizeof(*first));
    list[num++] = output(CVSW_PORT_WIRE);
    add_flow(nic, 1, CVSW_IN_PORT, CVSW_PORT_GUEST, list, num);
}

static void set_nothing(Nic *nic)
{
}

static void set_output(Nic *nic)
{
    to_wire(nic, NULL, 0);
}

static void set_ip(Nic *nic)
{
    CvswAction list[2] = {
        { .type = CVSW_ACTION_SET_NW_SRC, .ip4 = { htonl(0xc0000201) } },
        { .type = CVSW_ACTION_SET_NW_DST, .ip4 = { htonl(0xc0000202) } },
    };

    to_wire(nic, list, 2);
}

static void set_vlan(Nic *nic)
{
    CvswAction push = with_number(CVSW_ACTION_PUSH_VLAN, 0x8100);

    to_wire(nic, &push, 1);
}

static void set_vxlan4(Nic *nic)
{
    CvswAction a = encap(false);

    to_wire(nic, &a, 1);
}

static void set_vxlan6(Nic *nic)
{
    CvswAction a = encap(true);

    to_wire(nic, &a, 1);
}

static bool wire_cuts(void *opaque)
{
    return true;
}

static void set_whole4(Nic *nic)
{
    nic->run.wire_cuts = wire_cuts;
    set_vxlan4(nic);
}

static void set_sealed(Nic *nic)
{
    CvswAction list[2] = { encap(false), { .type = CVSW_ACTION_ENCRYPT } };

    list[1].sa = 1;
    add_sa(nic, ESP_OUTBOUND);
    to_wire(nic, list, 2);
}

static void from_tunnel(Nic *nic, bool sealed)
{
    CvswAction deliver = output(CVSW_PORT_GUEST), list[2];
    unsigned num = 0;

    if (sealed) {
        add_sa(nic, ESP_INBOUND);
        list[num++] = (CvswAction) { .type = CVSW_ACTION_DECRYPT };
    }
    list[num++] = (CvswAction) { .type = CVSW_ACTION_TUNNEL_DECAP };
    add_flow(nic, 1, CVSW_IN_PORT, CVSW_PORT_WIRE, list, num);
    add_flow(nic, 2, CVSW_TUNNEL_ID, VNI, &deliver, 1);
}

static void take_vxlan(Nic *nic)
{
    from_tunnel(nic, false);
}

static void take_sealed(Nic *nic)
{
    from_tunnel(nic, true);
}

typedef struct Case {
    const char *name;
    void (*set)(Nic *);
    void (*sender)(Nic *);      /* makes a frame of the wire */
} Case;

static const Case cases[] = {
    { "null", set_nothing },
    { "output", set_output },
    { "ip", set_ip },
    { "vlan", set_vlan },
    { "vxlan4", set_vxlan4 },
    { "vxlan6", set_vxlan6 },
    { "vxlan4-whole", set_whole4 },
    { "vxlan+esp", set_sealed },
    { "from-vxlan", take_vxlan, set_vxlan4 },
    { "from-vxlan+esp", take_sealed, set_sealed },
};

/* The guest's frame as it arrives when the other end has sent it. */
static void from_wire(Frame *f, void (*sender)(Nic *))
{
    Nic *nic = nic_new();

    sender(nic);
    nic->run.emit = keep;
    put_in(nic, f);
    g_assert(nic->kept_len && nic->kept_len < sizeof(nic->kept));
    memset(f, 0, sizeof(*f));
    memcpy(f->data, nic->kept, nic->kept_len);
    f->len = nic->kept_len;
    f->port = CVSW_PORT_WIRE;
    nic_free(nic);
}

static double once(Nic *nic, Frame *f)
{
    double begin = now_ns(), end;
    unsigned num = 0;

    do {
        for (unsigned i = 0; i < 64; i++) {
            put_in(nic, f);
        }
        num += 64;
        end = now_ns();
    } while (end - begin < WORK_NS);
    return (end - begin) / num;
}

static void measure_actions(const Case *c, size_t len, unsigned rounds)
{
    g_autofree Frame *f = g_new(Frame, 1);
    Nic *nic = nic_new();

    make_tcp(f, len);
    if (c->sender) {
        from_wire(f, c->sender);
    }
    c->set(nic);
    put_in(nic, f);
    g_assert(c->set == set_nothing || nic->frames);
    once(nic, f);
    printf("{\"what\": \"actions\", \"name\": \"%s\", \"len\": %zu, \"ns\": [",
           c->name, len);
    for (unsigned i = 0; i < rounds; i++) {
        printf("%s%.1f", i ? ", " : "", once(nic, f));
    }
    printf("]}\n");
    nic_free(nic);
}

/* --- ESP's core ----------------------------------------------------------- */

static double seal_ours(void)
{
    static uint8_t in[SEAL], out[SEAL + 100];
    struct iovec iov = { in, sizeof(in) };
    Nic *nic = nic_new();
    double begin, end;
    unsigned num = 0;
    size_t len;
    EspSa *sa;

    add_sa(nic, ESP_OUTBOUND);
    sa = cvsw_sas_outbound(nic->run.sas, 1);
    begin = now_ns();
    do {
        for (unsigned i = 0; i < 64; i++) {
            g_assert(esp_seal(sa, 17, &iov, 1, out, sizeof(out), &len) ==
                     ESP_GOOD);
        }
        num += 64;
        end = now_ns();
    } while (end - begin < WORK_NS);
    nic_free(nic);
    return num * 8.0 * SEAL / (end - begin);
}

/* libcrypto alone, with the same number of octets and a new nonce each time. */
static double seal_libcrypto(void)
{
    static uint8_t in[SEAL], out[SEAL + 100], key[16], aad[8], tag[16];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    uint64_t iv[2] = { 0 };
    double begin, end;
    unsigned num = 0;
    int len;

    g_assert(EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, key, NULL));
    begin = now_ns();
    do {
        for (unsigned i = 0; i < 64; i++) {
            iv[0]++;
            EVP_EncryptInit_ex(ctx, NULL, NULL, NULL, (uint8_t *)iv);
            EVP_EncryptUpdate(ctx, NULL, &len, aad, sizeof(aad));
            EVP_EncryptUpdate(ctx, out, &len, in, sizeof(in));
            EVP_EncryptFinal_ex(ctx, out + len, &len);
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, sizeof(tag), tag);
        }
        num += 64;
        end = now_ns();
    } while (end - begin < WORK_NS);
    EVP_CIPHER_CTX_free(ctx);
    return num * 8.0 * SEAL / (end - begin);
}

static void measure_seal(unsigned rounds)
{
    printf("{\"what\": \"seal\", \"len\": %d, \"gbit\": [", SEAL);
    for (unsigned i = 0; i < rounds; i++) {
        printf("%s[%.2f, %.2f]", i ? ", " : "", seal_ours(), seal_libcrypto());
    }
    printf("]}\n");
}

/* --- several -------------------------------------------------------------- */

static gint go, stop;

static void *work(void *opaque)
{
    g_autofree Frame *f = g_new(Frame, 1);
    Nic *nic = opaque;

    make_tcp(f, SUPER);
    while (!g_atomic_int_get(&go)) {
        g_thread_yield();
    }
    while (!g_atomic_int_get(&stop)) {
        put_in(nic, f);
    }
    return NULL;
}

static double together(unsigned num)
{
    GThread *thread[PAIRS_MAX];
    Nic *nic[PAIRS_MAX];
    uint64_t octets = 0;
    double begin;

    g_atomic_int_set(&go, 0);
    g_atomic_int_set(&stop, 0);
    for (unsigned i = 0; i < num; i++) {
        nic[i] = nic_new();
        set_sealed(nic[i]);
        thread[i] = g_thread_new(NULL, work, nic[i]);
    }
    begin = now_ns();
    g_atomic_int_set(&go, 1);
    g_usleep(5 * WORK_NS / 1000);
    g_atomic_int_set(&stop, 1);
    begin = now_ns() - begin;
    for (unsigned i = 0; i < num; i++) {
        g_thread_join(thread[i]);
        octets += nic[i]->octets;
        nic_free(nic[i]);
    }
    return octets * 8 / begin;
}

static void measure_pairs(unsigned rounds)
{
    for (unsigned num = 1; num <= PAIRS_MAX; num *= 2) {
        printf("{\"what\": \"pairs\", \"pairs\": %u, \"gbit\": [", num);
        for (unsigned i = 0; i < rounds; i++) {
            printf("%s%.2f", i ? ", " : "", together(num));
        }
        printf("]}\n");
    }
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
    static const size_t lens[] = { 64, 512, MSS + 54, SUPER };

    if (rounds == 0 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: %s [ROUNDS]\n", argv[0]);
        return 2;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(lens); j++) {
            if (!cases[i].sender || lens[j] != SUPER) {
                measure_actions(&cases[i], lens[j], rounds);
            }
        }
    }
    measure_seal(rounds);
    measure_pairs(rounds);
    return 0;
}
