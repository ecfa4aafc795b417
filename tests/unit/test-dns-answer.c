/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies from zones without signatures: RFC 1034 section 6, and the rest */
#include <string.h>

#include "tests/fixtures/answer-fixture.h"

/* --- RFC 1034 section 6.1 ------------------------------------------------- */

static const char root_zone[] =
    ". 86400 SOA SRI-NIC.ARPA HOSTMASTER.SRI-NIC.ARPA"
    " 870611 1800 300 604800 86400\n"
    ". 86400 NS A.ISI.EDU\n"
    ". 86400 NS C.ISI.EDU\n"
    ". 86400 NS SRI-NIC.ARPA\n"
    "MIL 86400 NS SRI-NIC.ARPA\n"
    "MIL 86400 NS A.ISI.EDU\n"
    "EDU 86400 NS SRI-NIC.ARPA\n"
    "EDU 86400 NS C.ISI.EDU\n"
    "SRI-NIC.ARPA 86400 A 26.0.0.73\n"
    "SRI-NIC.ARPA 86400 A 10.0.0.51\n"
    "SRI-NIC.ARPA 86400 MX 0 SRI-NIC.ARPA\n"
    "SRI-NIC.ARPA 86400 HINFO DEC-2060 TOPS20\n"
    "ACC.ARPA 86400 A 26.6.0.65\n"
    "ACC.ARPA 86400 HINFO PDP-11/70 UNIX\n"
    "ACC.ARPA 86400 MX 10 ACC.ARPA\n"
    "USC-ISIC.ARPA 86400 CNAME C.ISI.EDU\n"
    "73.0.0.26.IN-ADDR.ARPA 86400 PTR SRI-NIC.ARPA\n"
    "A.ISI.EDU 86400 A 26.3.0.103\n"
    "C.ISI.EDU 86400 A 10.0.0.52\n";

static const char edu_zone[] =
    "EDU 86400 SOA SRI-NIC.ARPA HOSTMASTER.SRI-NIC.ARPA"
    " 870729 1800 300 604800 86400\n"
    "EDU 86400 NS SRI-NIC.ARPA\n"
    "EDU 86400 NS C.ISI.EDU\n"
    "ISI.EDU 172800 NS VAXA.ISI.EDU\n"
    "ISI.EDU 172800 NS A.ISI.EDU\n"
    "VAXA.ISI.EDU 172800 A 10.2.0.27\n"
    "VAXA.ISI.EDU 172800 A 128.9.0.33\n"
    "A.ISI.EDU 172800 A 26.3.0.103\n"
    "UDEL.EDU 172800 NS LOUIE.UDEL.EDU\n"
    "UDEL.EDU 172800 NS UMN-REI-UC.ARPA\n"
    "LOUIE.UDEL.EDU 172800 A 10.0.0.96\n"
    "YALE.EDU 172800 NS YALE.ARPA\n";

#define ROOT_SOA \
    "au . 86400 SOA SRI-NIC.ARPA HOSTMASTER.SRI-NIC.ARPA" \
    " 870611 1800 300 604800 86400\n"

static void test_rfc1034(void)
{
    AnswerBed bed = { 0 };

    bed_add_zone(&bed, ".", root_zone, false);
    bed_add_zone(&bed, "EDU", edu_zone, false);
    /* 6.2.1 */
    bed_expect(&bed, "SRI-NIC.ARPA A",
               "NOERROR aa\n"
               "an SRI-NIC.ARPA 86400 A 26.0.0.73\n"
               "an SRI-NIC.ARPA 86400 A 10.0.0.51\n");
    /* 6.2.2; RFC 8482 section 4.1 over UDP */
    bed_expect(&bed, "SRI-NIC.ARPA ANY",
               "NOERROR aa\n"
               "an SRI-NIC.ARPA 86400 A 26.0.0.73\n"
               "an SRI-NIC.ARPA 86400 A 10.0.0.51\n");
    bed.answerer.flags = DNS_ANSWER_STREAM;
    bed_expect(&bed, "SRI-NIC.ARPA ANY",
               "NOERROR aa\n"
               "an SRI-NIC.ARPA 86400 A 26.0.0.73\n"
               "an SRI-NIC.ARPA 86400 A 10.0.0.51\n"
               "an SRI-NIC.ARPA 86400 HINFO DEC-2060 TOPS20\n"
               "an SRI-NIC.ARPA 86400 MX 0 SRI-NIC.ARPA\n");
    /* 6.2.3 */
    bed_expect(&bed, "sri-nic.arpa MX",
               "NOERROR aa\n"
               "an sri-nic.arpa 86400 MX 0 sri-nic.arpa\n"
               "ad sri-nic.arpa 86400 A 26.0.0.73\n"
               "ad sri-nic.arpa 86400 A 10.0.0.51\n");
    bed.answerer.flags = DNS_ANSWER_MINIMAL;
    bed_expect(&bed, "sri-nic.arpa MX",
               "NOERROR aa\nan sri-nic.arpa 86400 MX 0 sri-nic.arpa\n");
    /* 6.2.4 */
    bed_expect(&bed, "SRI-NIC.ARPA NS", "NOERROR aa\n" ROOT_SOA);
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_NODATA);
    /* 6.2.5 */
    bed_expect(&bed, "SIR-NIC.ARPA A", "NXDOMAIN aa\n" ROOT_SOA);
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_NXDOMAIN);
    g_assert_cmpuint(bed.info.rcode, ==, DNS_RCODE_NXDOMAIN);
    /* 6.2.6 */
    bed_expect(&bed, "BRL.MIL A",
               "NOERROR\n"
               "au MIL 86400 NS SRI-NIC.ARPA\n"
               "au MIL 86400 NS A.ISI.EDU\n"
               "ad SRI-NIC.ARPA 86400 A 26.0.0.73\n"
               "ad SRI-NIC.ARPA 86400 A 10.0.0.51\n"
               "ad A.ISI.EDU 86400 A 26.3.0.103\n");
    g_assert_cmpint(bed.info.kind, ==, DNS_ANSWER_REFERRAL);
    g_assert_cmpuint(bed.info.common_at, ==, 4);
    /* 6.2.7, but the alias leads to another zone. */
    bed_expect(&bed, "USC-ISIC.ARPA A",
               "NOERROR aa\nan USC-ISIC.ARPA 86400 CNAME C.ISI.EDU\n");
    /* 6.2.8 */
    bed_expect(&bed, "USC-ISIC.ARPA CNAME",
               "NOERROR aa\nan USC-ISIC.ARPA 86400 CNAME C.ISI.EDU\n");
    bed_clear(&bed);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/dns-answer/rfc1034", test_rfc1034);
    return g_test_run();
}
