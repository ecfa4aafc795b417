/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ND and ARP requests that a NIC answers, and packets that it ignores */
#include "base/octets.h"
#include "tests/fixtures/cvsw-nic.h"
#include "net/packet/ip6.h"

#define L3              PACKET_ETH_LEN
#define HOPS_AT         (L3 + 7)
#define TYPE_AT         (L3 + PACKET_IP6_LEN)

/* The tunnel's end, 2001:db8::2, is at 52:54:00:00:00:01. */
#define ADDRESS(n)      "20010db80000000000000000000000" n
#define ALL_NODES       "ff020000000000000000000000000001"
#define SOLICITED       "ff0200000000000000000001ff000002"
#define LINK_LOCAL      "fe800000000000000000000000000001"
#define NONE            "00000000000000000000000000000000"
#define OURS            "525400000001"
#define THEIRS          "020000000001"
#define HEAD(len)       "6000000000" len "3aff"

static const char question[] =
    "3333ff000002" THEIRS "86dd" HEAD("20") ADDRESS("01") SOLICITED
    "87001c2700000000" ADDRESS("02") "0101" THEIRS;

static NicFrame *frame_of(const char *hex)
{
    NicFrame *f = g_new0(NicFrame, 1);

    for (; hex[0]; hex += 2) {
        f->data[f->len++] = g_ascii_xdigit_value(hex[0]) << 4 |
                            g_ascii_xdigit_value(hex[1]);
    }
    return f;
}

/* A NIC that has to answer all frames of the wire. */
static Nic *answering(CvswActionType type)
{
    static const uint8_t mac[] = { 0x52, 0x54, 0, 0, 0, 1 };
    CvswAction actions[2] = {
        { .type = type }, nic_output(CVSW_OUT_IN_PORT),
    };
    Nic *nic = nic_new();

    memcpy(actions[0].mac, mac, sizeof(mac));
    nic_flow_from(nic, CVSW_PORT_WIRE, actions, 2);
    return nic;
}

static void assert_answers_by(CvswActionType type, const NicFrame *f,
                              const char *want)
{
    g_autofree NicFrame *expected = frame_of(want);
    Nic *nic = answering(type);
    const NicFrame *out;

    g_assert_true(nic_put_in(nic, CVSW_PORT_WIRE, f));
    g_assert_cmpint(nic->guest->len, ==, 0);
    g_assert_cmpint(nic->wire->len, ==, 1);
    out = g_ptr_array_index(nic->wire, 0);
    g_assert_cmpmem(out->data, out->len, expected->data, expected->len);
    g_assert_false(out->offload.needs_csum);
    nic_free(nic);
}

static void assert_answers(const NicFrame *f, const char *want)
{
    assert_answers_by(CVSW_ACTION_ANSWER_ND, f, want);
}

static void assert_drops_by(CvswActionType type, const NicFrame *f,
                            CvswDrop why)
{
    Nic *nic = answering(type);

    g_assert_true(nic_put_in(nic, CVSW_PORT_WIRE, f));
    g_assert_cmpint(nic->guest->len + nic->wire->len, ==, 0);
    g_assert_cmpuint(nic_dropped(nic, CVSW_PORT_WIRE, why), ==, 1);
    nic_free(nic);
}

static void assert_drops(const NicFrame *f)
{
    assert_drops_by(CVSW_ACTION_ANSWER_ND, f, CVSW_DROP_NOT_ND);
}

/* RFC 4861 section 7.2.4 */
static void test_golden(void)
{
    static const struct {
        const char *question, *answer;
    } all[] = {
        { question,
          THEIRS OURS "86dd" HEAD("20") ADDRESS("02") ADDRESS("01")
          "88003a1e60000000" ADDRESS("02") "0201" OURS },
        /* Unicast probe of a known neighbour (section 7.3.3) */
        { OURS THEIRS "86dd" HEAD("18") LINK_LOCAL ADDRESS("02")
          "87001eb500000000" ADDRESS("02"),
          THEIRS OURS "86dd" HEAD("20") ADDRESS("02") LINK_LOCAL
          "8800695660000000" ADDRESS("02") "0201" OURS },
        /* Duplicate address detection (RFC 4862 section 5.4.3) */
        { "3333ff000002" THEIRS "86dd" HEAD("18") NONE SOLICITED
          "87004ceb00000000" ADDRESS("02"),
          "333300000001" OURS "86dd" HEAD("20") ADDRESS("02") ALL_NODES
          "8800a8d420000000" ADDRESS("02") "0201" OURS },
        /* With tags. */
        { "3333ff000002" THEIRS "88a80007" "8100e064" "86dd" HEAD("20")
          ADDRESS("01") SOLICITED "87001c2700000000" ADDRESS("02")
          "0101" THEIRS,
          THEIRS OURS "88a80007" "8100e064" "86dd" HEAD("20") ADDRESS("02")
          ADDRESS("01") "88003a1e60000000" ADDRESS("02") "0201" OURS },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autofree NicFrame *f = frame_of(all[i].question);

        assert_answers(f, all[i].answer);
        f->len += 10;           /* padding, which is no part of the packet */
        assert_answers(f, all[i].answer);
        f->len += PACKET_FLOW_LOOK;
        assert_answers(f, all[i].answer);
    }
}

/* Any octet may be wrong, or the last ones missing. */
static void test_damaged(void)
{
    g_autofree NicFrame *f = frame_of(question);
    size_t whole = f->len;

    for (size_t i = L3; i < whole; i++) {
        if (i > L3 && i < L3 + 4) {
            continue;           /* traffic class and flow label are free */
        }
        f->data[i] ^= 0xff;
        assert_drops(f);
        f->data[i] ^= 0xff;
    }
    for (f->len = 40; f->len < whole; f->len++) {
        assert_drops(f);
    }
}

/* Faults that no checksum detects. */
static void test_invalid(void)
{
    g_autofree NicFrame *hops = frame_of(question);
    g_autofree NicFrame *group = frame_of(question);
    g_autofree NicFrame *partial = frame_of(question);
    /* An advertisement, and a packet for another node. */
    g_autofree NicFrame *advert = frame_of(
        THEIRS OURS "86dd" HEAD("20") ADDRESS("02") ADDRESS("01")
        "88003a1e60000000" ADDRESS("02") "0201" OURS);
    g_autofree NicFrame *tcp = nic_tcp(false, 100, false);

    hops->data[HOPS_AT] = 254;  /* a router has passed it on */
    group->data[PACKET_ETH_ADDR_LEN] = 0x03;
    partial->offload.needs_csum = true;
    partial->offload.csum_start = TYPE_AT;
    partial->offload.csum_offset = 2;
    put_be16(partial->data + TYPE_AT + 2, 0x1234);
    assert_drops(hops);
    assert_drops(group);
    assert_drops(partial);
    assert_drops(advert);
    assert_drops(tcp);
}

/* A valid solicitation of this length; @whole: the NIC can read all of it. */
static void long_one(unsigned options, bool whole)
{
    g_autofree NicFrame *f = frame_of(question);
    uint32_t sum = 0xffff & ~get_be16(f->data + TYPE_AT + 2);

    for (unsigned i = 0; i < options; i++) {
        f->data[f->len] = 14;   /* a nonce (RFC 3971), in our case of zeros */
        f->data[f->len + 1] = 1;
        f->len += 8;
        sum += 0x0e01 + 8;      /* the option, and the pseudo-header's length */
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    put_be16(f->data + L3 + 4, f->len - TYPE_AT);
    put_be16(f->data + TYPE_AT + 2, ~sum);
    if (whole) {
        assert_answers(f, THEIRS OURS "86dd" HEAD("20") ADDRESS("02")
                       ADDRESS("01") "88003a1e60000000" ADDRESS("02") "0201"
                       OURS);
    } else {
        assert_drops(f);
    }
}

static void test_long(void)
{
    long_one(1, true);
    long_one((PACKET_FLOW_LOOK - 86) / 8, true);
    long_one((PACKET_FLOW_LOOK - 86) / 8 + 1, false);
}

/* --- ARP ------------------------------------------------------------------ */

/* 192.0.2.254 asks for 192.0.2.2, which is at 52:54:00:00:00:01. */
#define BROADCAST       "ffffffffffff"
#define NOBODY          "000000000000"
#define ARP(op)         "0001" "0800" "06" "04" "000" op
#define ASKER           THEIRS "c00002fe"
#define TARGET          "c0000202"

static const char arp_question[] =
    BROADCAST THEIRS "0806" ARP("1") ASKER NOBODY TARGET;

/* RFC 826 */
static void test_arp_golden(void)
{
    static const struct {
        const char *question, *answer;
    } all[] = {
        { arp_question,
          THEIRS OURS "0806" ARP("2") OURS TARGET ASKER },
        /* Unicast poll of a known neighbour (RFC 1122 section 2.3.2.1) */
        { OURS THEIRS "0806" ARP("1") ASKER OURS TARGET,
          THEIRS OURS "0806" ARP("2") OURS TARGET ASKER },
        /* Address probe (RFC 5227 section 2.1.1) */
        { BROADCAST THEIRS "0806" ARP("1") THEIRS "00000000" NOBODY TARGET,
          THEIRS OURS "0806" ARP("2") OURS TARGET THEIRS "00000000" },
        /* With tags; and the request was forwarded by another station. */
        { BROADCAST "020000000009" "88a80007" "8100e064" "0806" ARP("1") ASKER
          NOBODY TARGET,
          THEIRS OURS "88a80007" "8100e064" "0806" ARP("2") OURS TARGET
          ASKER },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autofree NicFrame *f = frame_of(all[i].question);

        for (unsigned padding = 0; padding < 3; padding++) {
            assert_answers_by(CVSW_ACTION_ANSWER_ARP, f, all[i].answer);
            f->len += padding ? PACKET_FLOW_LOOK : 18;
        }
    }
}

static void assert_no_arp(const NicFrame *f)
{
    assert_drops_by(CVSW_ACTION_ANSWER_ARP, f, CVSW_DROP_NOT_ARP);
}

/* The flow's match decides about the IP addresses. */
static void test_arp_invalid(void)
{
    static const char *const all[] = {
        /* A reply, and a request of RARP (RFC 903). */
        THEIRS OURS "0806" ARP("2") OURS TARGET ASKER,
        BROADCAST THEIRS "0806" ARP("3") ASKER NOBODY TARGET,
        /* The sender's address is missing, or a group. */
        BROADCAST THEIRS "0806" ARP("1") NOBODY "c00002fe" NOBODY TARGET,
        BROADCAST THEIRS "0806" ARP("1") BROADCAST "c00002fe" NOBODY TARGET,
        /* In a frame of IEEE 802.3, with SNAP. */
        BROADCAST THEIRS "0024" "aaaa03000000" "0806" ARP("1") ASKER NOBODY
        TARGET,
    };
    g_autofree NicFrame *f = frame_of(arp_question);
    g_autofree NicFrame *tcp = nic_tcp(false, 100, false);
    size_t whole = f->len;

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autofree NicFrame *other = frame_of(all[i]);

        assert_no_arp(other);
    }
    for (size_t i = L3; i < L3 + 8; i++) {
        f->data[i] ^= 0xff;
        assert_no_arp(f);
        f->data[i] ^= 0xff;
    }
    for (f->len = 40; f->len < whole; f->len++) {
        assert_no_arp(f);
    }
    assert_no_arp(tcp);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/answer/golden", test_golden);
    g_test_add_func("/cvsw/answer/damaged", test_damaged);
    g_test_add_func("/cvsw/answer/invalid", test_invalid);
    g_test_add_func("/cvsw/answer/long", test_long);
    g_test_add_func("/cvsw/answer/arp/golden", test_arp_golden);
    g_test_add_func("/cvsw/answer/arp/invalid", test_arp_invalid);
    return g_test_run();
}
