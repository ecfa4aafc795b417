/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows as "ovs-ofctl dump-flows" prints them */
#include <glib.h>

#include "tests/fixtures/cvsw-of13-pieces.h"
#include "tests/fixtures/cvsw-openflow-fixture.h"
#include "hw/net/cvsw/openflow/dump.h"

#define NOW_MS          100000u

static void shows(GByteArray *msg, uint64_t age_ms, const char *want)
{
    g_autoptr(GString) got = g_string_new("> ");
    CvswFlowMod mod = of_parse(msg);
    CvswEntry entry = of_entry(&mod);

    entry.made_ms = NOW_MS - age_ms;
    entry.packets = 3;
    entry.octets = 4000000000000;
    cvsw_of_dump(got, &entry, NOW_MS);
    g_assert_cmpstr(got->str, ==, want);
    g_byte_array_unref(msg);
}

static void test_plain(void)
{
    shows(of13("", ""), 0,
          ">  cookie=0x0, duration=0s, table=0, n_packets=3, "
          "n_bytes=4000000000000, actions=drop");
}

static void test_whole(void)
{
    GByteArray *msg = of13_flow("80000004 00000001" TAGGED IP4 PROTO("06")
                                "80001c02 0050" "80004c08 0000000000000007",
                                POP_VLAN OUTPUT_WIRE);

    of_put(msg, 8, "00000000000000ab 0000000000000000 00 00 0005 000a 0064");
    of_put(msg, 44, "0007");
    shows(msg, 3250,
          ">  cookie=0xab, duration=3.250s, table=0, n_packets=3, "
          "n_bytes=4000000000000, idle_timeout=5, hard_timeout=10, "
          "send_flow_rem priority=100,tcp,tun_id=0x7,in_port=1,dl_vlan=100,"
          "tp_dst=80 actions=pop_vlan,output:2");
}

static void test_duration(void)
{
    static const struct {
        unsigned ms;
        const char *text;
    } all[] = {
        { 1, "0.001s" }, { 10, "0.010s" }, { 100, "0.100s" }, { 1000, "1s" },
        { 90120, "90.120s" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        g_autofree char *want = g_strdup_printf(
            ">  cookie=0x0, duration=%s, table=0, n_packets=3, "
            "n_bytes=4000000000000, arp actions=drop", all[i].text);

        shows(of13(ARP, ""), all[i].ms, want);
    }
}

/* EtherTypes with keywords, and protocols of IPv6. */
static void test_words(void)
{
    static const struct {
        const char *fields, *word;
    } all[] = {
        { IP4, "ip" }, { IP4 PROTO("01"), "icmp" }, { IP4 PROTO("06"), "tcp" },
        { IP4 PROTO("11"), "udp" }, { IP4 PROTO("84"), "sctp" },
        { IP6, "ipv6" }, { IP6 PROTO("3a"), "icmp6" },
        { IP6 PROTO("06"), "tcp6" }, { IP6 PROTO("11"), "udp6" },
        { IP6 PROTO("84"), "sctp6" }, { ARP, "arp" },
        { "80000a02 8035", "rarp" }, { "80000a02 8847", "mpls" },
        { "80000a02 8848", "mplsm" }, { "80000a02 0600", "dl_type=0x0600" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
        of_takes(of13(all[i].fields, ""), all[i].word, "drop");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cvsw/dump/plain", test_plain);
    g_test_add_func("/cvsw/dump/whole", test_whole);
    g_test_add_func("/cvsw/dump/duration", test_duration);
    g_test_add_func("/cvsw/dump/words", test_words);
    return g_test_run();
}
