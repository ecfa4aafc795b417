/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIP between an IPv4 guest and IPv6 peers: messages, as datagrams and in
 * streams
 */
#include <string.h>

#include "tests/fixtures/alg-fixture.h"

#define OUT             VMRPC_ALG_TO_HOST
#define IN              VMRPC_ALG_TO_GUEST

/* A "#" in @header becomes the length of @body. */
static char *message(const char *header, const char *body)
{
    g_autofree char *len = g_strdup_printf("%zu", strlen(body));
    g_auto(GStrv) parts = g_strsplit(header, "#", -1);
    g_autofree char *filled = g_strjoinv(len, parts);

    return g_strconcat(filled, body, NULL);
}

/* What becomes of a datagram. */
static char *rewrite(VmrpcAlgDir dir, const char *text, AlgFx *fx)
{
    GByteArray *out = vmrpc_alg_datagram(&fx->ops, dir, text, strlen(text));

    if (!out) {
        return g_strdup(text);
    }
    g_byte_array_append(out, (const uint8_t *)"", 1);
    return (char *)g_byte_array_free(out, FALSE);
}

/* --- whole messages ------------------------------------------------------- */

/* An INVITE of the guest's, and a peer's to it: the ways are opposites. */
static const char invite4[] =
    "INVITE sip:bob@198.18.0.5 SIP/2.0\r\n"
    "Via: SIP/2.0/UDP 192.0.0.2:5060;branch=z9hG4bK776;rport\r\n"
    "Max-Forwards: 70\r\n"
    "From: \"At 192.0.0.2\" <sip:alice@192.0.0.2>;tag=1928\r\n"
    "To: <sip:bob@198.18.0.5:5062>\r\n"
    "Call-ID: a84b4c76e66710@192.0.0.2\r\n"
    "CSeq: 314159 INVITE\r\n"
    "Contact: <sip:alice@192.0.0.2:5060;transport=udp>\r\n"
    "Route: <sip:198.18.0.6;lr>,<sip:proxy.example;lr>\r\n"
    "Content-Type: application/sdp\r\n"
    "Content-Length: #\r\n"
    "\r\n";
static const char invite6[] =
    "INVITE sip:bob@[2001:db8:5::21] SIP/2.0\r\n"
    "Via: SIP/2.0/UDP [2001:db8::c0de]:5060;branch=z9hG4bK776;rport\r\n"
    "Max-Forwards: 70\r\n"
    "From: \"At 192.0.0.2\" <sip:alice@[2001:db8::c0de]>;tag=1928\r\n"
    "To: <sip:bob@[2001:db8:5::21]:5062>\r\n"
    "Call-ID: a84b4c76e66710@192.0.0.2\r\n"
    "CSeq: 314159 INVITE\r\n"
    "Contact: <sip:alice@[2001:db8::c0de]:5060;transport=udp>\r\n"
    "Route: <sip:[2001:db8:5::22];lr>,<sip:proxy.example;lr>\r\n"
    "Content-Type: application/sdp\r\n"
    "Content-Length: #\r\n"
    "\r\n";
static const char sdp4[] =
    "v=0\r\n"
    "o=alice 2890844526 2890844526 IN IP4 192.0.0.2\r\n"
    "s=IN IP4 192.0.0.2\r\n"
    "c=IN IP4 192.0.0.2\r\n"
    "t=0 0\r\n"
    "m=audio 49170 RTP/AVP 0\r\n"
    "a=rtcp:53020 IN IP4 192.0.0.2\r\n"
    "a=rtpmap:0 PCMU/8000\r\n";
static const char sdp6[] =
    "v=0\r\n"
    "o=alice 2890844526 2890844526 IN IP6 2001:db8::c0de\r\n"
    "s=IN IP4 192.0.0.2\r\n"
    "c=IN IP6 2001:db8::c0de\r\n"
    "t=0 0\r\n"
    "m=audio 49170 RTP/AVP 0\r\n"
    "a=rtcp:53020 IN IP6 2001:db8::c0de\r\n"
    "a=rtpmap:0 PCMU/8000\r\n";

/* A response, in compact forms, with folds, and the other way round. */
static const char ok6[] =
    "SIP/2.0 200 OK\r\n"
    "v: SIP/2.0/UDP proxy.example ;branch=z9 ,\r\n"
    " SIP / 2.0 / TCP\r\n"
    "\t[2001:db8::c0de] : 5060 ; received = 2001:db8:5::22\r\n"
    "f: sip:alice@[2001:db8::c0de];tag=1\r\n"
    "t :\r\n <sip:[2001:db8:5::21]>\r\n"
    "m: sip:[2001:db8:5::21]:99;q=0.1, \"\\\"<sip:[2001:db8:5::21]>\""
    " <SIPS:bob@[2001:DB8:5:0::21]?subject=x>\r\n"
    "Record-Route: <sip:proxy.example;maddr=[2001:db8:5::22];lr>\r\n"
    "c:application/SDP;x=y\r\n"
    "l :\r\n\t#\r\n"
    "\r\n";
static const char ok4[] =
    "SIP/2.0 200 OK\r\n"
    "v: SIP/2.0/UDP proxy.example ;branch=z9 ,\r\n"
    " SIP / 2.0 / TCP\r\n"
    "\t192.0.0.2 : 5060 ; received = 198.18.0.6\r\n"
    "f: sip:alice@192.0.0.2;tag=1\r\n"
    "t :\r\n <sip:198.18.0.5>\r\n"
    "m: sip:198.18.0.5:99;q=0.1, \"\\\"<sip:[2001:db8:5::21]>\""
    " <SIPS:bob@198.18.0.5?subject=x>\r\n"
    "Record-Route: <sip:proxy.example;maddr=198.18.0.6;lr>\r\n"
    "c:application/SDP;x=y\r\n"
    "l :\r\n\t#\r\n"
    "\r\n";

static void test_whole(void)
{
    static const struct {
        VmrpcAlgDir dir;
        const char *header, *body, *new_header, *new_body;
    } cases[] = {
        { OUT, invite4, sdp4, invite6, sdp6 },
        { OUT, invite4, "", invite6, "" },
        { IN, ok6, sdp6, ok4, sdp4 },
    };
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *in = message(cases[i].header, cases[i].body);
        g_autofree char *want = message(cases[i].new_header,
                                        cases[i].new_body);
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autofree char *out = rewrite(cases[i].dir, in, fx);

        g_assert_cmpstr(out, ==, want);
        g_assert_cmpuint(fx->counters.alg_rewritten, ==, 1);
        g_assert_cmpuint(fx->counters.alg_malformed, ==, 0);
        alg_fx_free(fx);
    }
}

/* What the guest wrote comes back to it as it wrote it. */
static void test_there_and_back(void)
{
    static const AlgHow plain = { .cut = 0 };
    g_autofree char *in = message(invite4, sdp4);
    AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
    g_autofree char *out = rewrite(OUT, in, fx);
    g_autofree char *back = rewrite(IN, out, fx);

    g_assert_cmpstr(out, !=, in);
    g_assert_cmpstr(back, ==, in);
    alg_fx_free(fx);
}

/* --- one header ----------------------------------------------------------- */

static void test_headers(void)
{
    static const struct {
        VmrpcAlgDir dir;
        const char *line, *becomes; /* NULL: stays */
    } cases[] = {
        /* where addresses are */
        { OUT, "Via: SIP/2.0/UDP 192.0.0.2",
          "Via: SIP/2.0/UDP [2001:db8::c0de]" },
        { OUT, "VIA:SIP/2.0/UDP a.example;received=192.0.0.2;x",
          "VIA:SIP/2.0/UDP a.example;received=2001:db8::c0de;x" },
        { OUT, "Via: SIP/2.0/UDP 192.0.0.2;maddr=198.18.0.5:1",
          "Via: SIP/2.0/UDP [2001:db8::c0de];maddr=[2001:db8:5::21]:1" },
        { OUT, "Via: SIP/2.0/UDP 192.0.0.2,SIP/2.0/UDP 198.18.0.5",
          "Via: SIP/2.0/UDP [2001:db8::c0de],"
          "SIP/2.0/UDP [2001:db8:5::21]" },
        { OUT, "r: <sip:u:p@192.0.0.2:1?x=y>",
          "r: <sip:u:p@[2001:db8::c0de]:1?x=y>" },
        { OUT, "Refer-To: sip:192.0.0.2?Replaces=x",
          "Refer-To: sip:[2001:db8::c0de]?Replaces=x" },
        { OUT, "Path: <sip:192.0.0.2;lr>", "Path: <sip:[2001:db8::c0de];lr>" },
        { OUT, "Service-Route:<sips:192.0.0.2>",
          "Service-Route:<sips:[2001:db8::c0de]>" },
        { OUT, "Contact: sip:192.0.0.2,sip:bob@198.18.0.5 , sip:192.0.0.2",
          "Contact: sip:[2001:db8::c0de],sip:bob@[2001:db8:5::21] , "
          "sip:[2001:db8::c0de]" },
        { OUT, "Contact: <sip:a,b;c?d@192.0.0.2>,<sip:192.0.0.2>",
          "Contact: <sip:a,b;c?d@[2001:db8::c0de]>,<sip:[2001:db8::c0de]>" },
        { IN, "Via: SIP/2.0/UDP a.example;received=[2001:db8:5::21];x",
          "Via: SIP/2.0/UDP a.example;received=198.18.0.5;x" },
        { IN, "Via: SIP/2.0/UDP [2001:db8:5::21]",
          "Via: SIP/2.0/UDP 198.18.0.5" },
        { IN, "Contact: <sip:bob@[2001:db8:5::21];maddr=[2001:db8:5::22]>",
          "Contact: <sip:bob@198.18.0.5;maddr=198.18.0.6>" },
        /* what only looks like one */
        { OUT, "Contact: \"<sip:192.0.0.2>\" <sip:a.example>", NULL },
        { OUT, "Contact: \"\\\"<sip:192.0.0.2>\" <sip:a.example>", NULL },
        { OUT, "Contact: <sip:192.0.0.2@a.example>", NULL },
        { OUT, "Contact: <sip:192.0.0.2:1@a.example>", NULL },
        { OUT, "Contact: <sip:192.0.0.2.example>", NULL },
        { OUT, "Contact: <sip:192.0.0.2_a>", NULL },
        { OUT, "Contact: <sip:[192.0.0.2]>", NULL },
        { OUT, "Contact: <sip:192.0.0.02>", NULL },
        { OUT, "Contact: <sip:192.0.0.2", "Contact: <sip:[2001:db8::c0de]" },
        { OUT, "Contact: <gossip:192.0.0.2>", NULL },
        { OUT, "Contact: <tel:192.0.0.2>, *", NULL },
        { OUT, "Via: SIP/2.0/UDP a.example;branch=192.0.0.2", NULL },
        { OUT, "Via: SIP/2.0/UDP a.example;received", NULL },
        { OUT, "Via: SIP/2.0/UDP a.example;received =", NULL },
        { OUT, "Via: SIP/2.0 192.0.0.2", NULL },
        { OUT, "Via:", NULL },
        { OUT, "Contact: \"", NULL },
        { OUT, "Contact: \"\\", NULL },
        { OUT, "Call-ID: 1@192.0.0.2", NULL },
        { OUT, "Authorization: Digest uri=\"sip:192.0.0.2\"", NULL },
        { OUT, "Subject: sip:192.0.0.2", NULL },
        { OUT, "x: sip:192.0.0.2", NULL },
        { IN, "Contact: <sip:2001:db8:5::21>", NULL },
        { IN, "Contact: <sip:[2001:db8:5::21>", NULL },
        { IN, "Contact: <sip:[]>", NULL },
        { IN, "Contact: <sip:[::ffff:192.0.0.2]>", NULL },
        { IN, "Contact: <sip:192.0.0.2>", NULL },
        { IN, "Via: SIP/2.0/UDP a.example;received=2001:db8:5::21:22:33:44:"
          "55:66:77:88:99:aa:bb:cc:dd:ee:ff", NULL },
        /* addresses that nobody knows */
        { OUT, "Contact: <sip:192.0.0.3>", NULL },
        { OUT, "Contact: <sip:0.0.0.0>", NULL },
        { IN, "Contact: <sip:[2001:db8:5::99]>", NULL },
    };
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *becomes = cases[i].becomes ? cases[i].becomes
                                               : cases[i].line;
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autofree char *in = g_strdup_printf("ACK sip:b SIP/2.0\r\n%s\r\n"
                                              "Last: 1\r\n\r\n",
                                              cases[i].line);
        g_autofree char *want = g_strdup_printf("ACK sip:b SIP/2.0\r\n%s\r\n"
                                                "Last: 1\r\n\r\n", becomes);
        g_autofree char *out = rewrite(cases[i].dir, in, fx);

        g_assert_cmpstr(out, ==, want);
        g_assert_cmpuint(fx->counters.alg_rewritten, ==,
                         cases[i].becomes != NULL);
        g_assert_cmpuint(fx->counters.alg_malformed, ==, 0);
        alg_fx_free(fx);
    }
}

static void test_request_uri(void)
{
    static const struct {
        VmrpcAlgDir dir;
        const char *line, *becomes;
    } cases[] = {
        { OUT, "ACK sip:198.18.0.5 SIP/2.0",
          "ACK sip:[2001:db8:5::21] SIP/2.0" },
        { OUT, "REGISTER SIP:a@198.18.0.5:1;x=y?z sip/2.0",
          "REGISTER SIP:a@[2001:db8:5::21]:1;x=y?z sip/2.0" },
        { IN, "BYE sips:[2001:db8::c0de];lr SIP/2.0",
          "BYE sips:192.0.0.2;lr SIP/2.0" },
        { OUT, "ACK tel:198.18.0.5 SIP/2.0", NULL },
        { OUT, "ACK xsip:198.18.0.5 SIP/2.0", NULL },
        { OUT, "SIP/2.0 200 sip:198.18.0.5", NULL },
        { OUT, "SIP/2.0 200 sip:198.18.0.5 SIP/2.0", NULL },
    };
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *becomes = cases[i].becomes ? cases[i].becomes
                                               : cases[i].line;
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autofree char *in = g_strconcat(cases[i].line, "\r\n\r\n", NULL);
        g_autofree char *want = g_strconcat(becomes, "\r\n\r\n", NULL);
        g_autofree char *out = rewrite(cases[i].dir, in, fx);

        g_assert_cmpstr(out, ==, want);
        g_assert_cmpuint(fx->counters.alg_malformed, ==, 0);
        alg_fx_free(fx);
    }
}

/* --- session descriptions ------------------------------------------------- */

static void test_sdp(void)
{
    static const struct {
        VmrpcAlgDir dir;
        const char *body, *becomes;
    } cases[] = {
        { OUT, "c=IN IP4 192.0.0.2", "c=IN IP6 2001:db8::c0de" },
        { OUT, "c=IN IP4 192.0.0.2\n\nC=in ip4 198.18.0.5\n",
          "c=IN IP6 2001:db8::c0de\n\nC=IN IP6 2001:db8:5::21\n" },
        { IN, "o=- 1 2 IN IP6 2001:db8:5::21\r\n",
          "o=- 1 2 IN IP4 198.18.0.5\r\n" },
        { OUT, "c=IN IP4 192.0.0.2/127\r\n", NULL },
        { OUT, "c=IN IP4 a.example\r\n", NULL },
        { OUT, "c=IN IP4 192.0.0.2 \r\n", NULL },
        { OUT, "c=IN IP4\r\nc=IN IP4 \r\nc=\r\n", NULL },
        { OUT, "c=IN IP6 192.0.0.2\r\n", NULL },
        { OUT, "c=IN IP4 0.0.0.0\r\n", NULL },
        { OUT, "o=- 1 IN IP4 192.0.0.2\r\n", NULL },
        { OUT, "o=\r\no=- - -\r\na=rtcp:1\r\na=rtcp:1 \r\n", NULL },
        { OUT, " c=IN IP4 192.0.0.2\r\n", NULL },
        { OUT, "a=candidate:1 1 UDP 1 192.0.0.2 8998 typ host\r\n", NULL },
        { IN, "c=IN IP6 [2001:db8:5::21]\r\n", NULL },
        { IN, "c=IN IP4 198.18.0.5\r\n", NULL },
    };
    static const char header[] = "ACK sip:b SIP/2.0\r\nl:#\r\n"
                                 "c: application/sdp\r\n\r\n";
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *becomes = cases[i].becomes ? cases[i].becomes
                                               : cases[i].body;
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autofree char *in = message(header, cases[i].body);
        g_autofree char *want = message(header, becomes);
        g_autofree char *out = rewrite(cases[i].dir, in, fx);

        g_assert_cmpstr(out, ==, want);
        g_assert_cmpuint(fx->counters.alg_malformed, ==, 0);
        alg_fx_free(fx);
    }
}

/* Content-Length of a datagram, and what it is not about. */
static void test_datagram_length(void)
{
    static const struct {
        const char *text, *becomes;     /* NULL: malformed */
    } cases[] = {
        /* none: to the end */
        { "ACK b SIP/2.0\r\nc:application/sdp\r\n\r\nc=IN IP4 192.0.0.2",
          "ACK b SIP/2.0\r\nc:application/sdp\r\n\r\n"
          "c=IN IP6 2001:db8::c0de" },
        /* what is behind the body is nobody's */
        { "ACK b SIP/2.0\r\nl:18\r\nc:application/sdp\r\n\r\n"
          "c=IN IP4 192.0.0.2\r\nc=IN IP4 192.0.0.2",
          "ACK b SIP/2.0\r\nl:23\r\nc:application/sdp\r\n\r\n"
          "c=IN IP6 2001:db8::c0de\r\nc=IN IP4 192.0.0.2" },
        /* another type */
        { "ACK b SIP/2.0\r\nl:18\r\nc:application/sdpx\r\n\r\n"
          "c=IN IP4 192.0.0.2",
          "ACK b SIP/2.0\r\nl:18\r\nc:application/sdpx\r\n\r\n"
          "c=IN IP4 192.0.0.2" },
        { "ACK b SIP/2.0\r\nl:18\r\n\r\nc=IN IP4 192.0.0.2",
          "ACK b SIP/2.0\r\nl:18\r\n\r\nc=IN IP4 192.0.0.2" },
        /* no change of the length: it is not written anew */
        { "ACK b SIP/2.0\r\nl:0000\r\nt:sip:192.0.0.2\r\n\r\n",
          "ACK b SIP/2.0\r\nl:0000\r\nt:sip:[2001:db8::c0de]\r\n\r\n" },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:1\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:0\r\nl:0\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:0x\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:-1\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\nl:0000000000\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\n"
          "l:18446744073709551616\r\n\r\n", NULL },
        /* no message of SIP */
        { "ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\n", NULL },
        { "ACK b SIP/2.0\r\nt sip\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\n:sip\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK b SIP/2.0\r\n t:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK b SIP/2.0\nt:sip:192.0.0.2\n\n", NULL },
        { "ACK b SIP/2.0\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK b\rc SIP/2.0\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK b SIP/3.0\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK SIP/2.0\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "SIP/2.0\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "ACK\x01 b SIP/2.0\r\nt:sip:192.0.0.2\r\n\r\n", NULL },
        { "A-method-longer-than-any-other-one b SIP/2.0\r\n"
          "t:sip:192.0.0.2\r\n\r\n", NULL },
        { "t:sip:192.0.0.2\r\n\r\n", NULL },
    };
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *want = cases[i].becomes ? cases[i].becomes
                                            : cases[i].text;
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autofree char *out = rewrite(OUT, cases[i].text, fx);

        g_assert_cmpstr(out, ==, want);
        g_assert_cmpuint(fx->counters.alg_malformed, ==, !cases[i].becomes);
        alg_fx_free(fx);
    }
}

/* Empty ones keep a binding alive, and are nobody's mistake. */
static void test_datagram_empty(void)
{
    static const char *const cases[] = { "", "\r\n", "\r\n\r\n" };
    static const AlgHow plain = { .cut = 0 };
    AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_null(vmrpc_alg_datagram(&fx->ops, OUT, cases[i],
                                         strlen(cases[i])));
    }
    g_assert_cmpuint(fx->counters.alg_malformed, ==, 0);
    alg_fx_free(fx);
}

/* A message with as many addresses as are rewritten, and with one more. */
static void test_many_addresses(void)
{
    static const AlgHow plain = { .cut = 0 };

    for (int n = VMRPC_ALG_ADDRESSES_MAX; n < VMRPC_ALG_ADDRESSES_MAX + 2;
         n++) {
        bool fits = n <= VMRPC_ALG_ADDRESSES_MAX;
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autoptr(GString) in = g_string_new("ACK b SIP/2.0\r\n");
        g_autofree char *out = NULL;

        for (int i = 0; i < n; i++) {
            g_string_append(in, "t:sip:192.0.0.2\r\n");
        }
        g_string_append(in, "l:0\r\n\r\n");
        out = rewrite(OUT, in->str, fx);
        g_assert_true(fits ? strstr(out, "192") == NULL
                           : strcmp(out, in->str) == 0);
        g_assert_cmpuint(fx->counters.alg_too_long, ==, !fits);
        g_assert_cmpuint(fx->lookups, ==, VMRPC_ALG_ADDRESSES_MAX);
        alg_fx_free(fx);
    }
}

/* Addresses grow; what no longer is a datagram goes out as it was. */
static void test_large_datagram(void)
{
    static const AlgHow plain = { .cut = 0 };

    for (size_t grows = 0; grows < 2; grows++) {
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autoptr(GString) in = NULL;
        GByteArray *out;

        in = g_string_new("ACK b SIP/2.0\r\nt:sip:192.0.0.2\r\n\r\n");
        while (in->len < 65507 - 7 + grows) {
            g_string_append_c(in, 'x');
        }
        out = vmrpc_alg_datagram(&fx->ops, OUT, in->str, in->len);
        g_assert_cmpuint(fx->counters.alg_too_long, ==, grows);
        if (grows) {
            g_assert_null(out);
        } else {
            g_assert_cmpuint(out->len, ==, 65507);
            g_byte_array_unref(out);
        }
        alg_fx_free(fx);
    }
}

/*
 * Work is linear in the length.  If it were not, fifty of these would take
 * longer than a test may.
 */
static void test_hostile_headers(void)
{
    static const char *const parts[] = {
        "<sip:", "=sip:", ",sip:", " sip:", "sip:a;", "<sip:a@", "[", "]",
        ";maddr=[", ";received=", ";", "\"", "\\\"", ",", "SIP/2.0/UDP a,",
        "/", "\r\n ", "\r\nv:", "\r\nv:\r\n ", ":", " :", "1.2.3.4,",
    };
    static const char *const begins[] = { "m: ", "v: SIP/2.0/UDP a," };
    static const AlgHow plain = { .cut = 0 };

    for (size_t i = 0; i < 2 * G_N_ELEMENTS(parts); i++) {
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &plain);
        g_autoptr(GString) in = g_string_new("ACK b SIP/2.0\r\n");

        g_string_append(in, begins[i % 2]);

        while (in->len < 65000) {
            g_string_append(in, parts[i / 2]);
        }
        g_string_append(in, "\r\nl: 0\r\n\r\n");
        for (int n = 0; n < 50; n++) {
            g_assert_null(vmrpc_alg_datagram(&fx->ops, n % 2, in->str,
                                             in->len));
        }
        alg_fx_free(fx);
    }
}

/* --- streams -------------------------------------------------------------- */

#define STEPS(...) (const AlgStep []) { __VA_ARGS__, { 0, NULL, NULL } }

#define BYE4            "BYE sip:192.0.0.2 SIP/2.0\r\nl: 0\r\n\r\n"
#define BYE6            "BYE sip:[2001:db8::c0de] SIP/2.0\r\nl: 0\r\n\r\n"

static const AlgSession sessions[] = {
    {
        .name = "frames",
        .counters = { .alg_rewritten = 5 },
        .steps = STEPS(
            { '>', "\r\n\r\n" BYE4 "\r\n" BYE4 "\r\n",
              "\r\n\r\n" BYE6 "\r\n" BYE6 "\r\n" },
            { '<', BYE6 BYE6, BYE4 BYE4 },
            { '<', "SIP/2.0 200 OK\r\nl: 0\r\n\r\n\n\n", NULL },
            /* a body of another type passes, the header is rewritten */
            { '>', "MESSAGE sip:192.0.0.2 SIP/2.0\r\n"
                   "Content-Length: 48\r\nc: text/plain\r\n\r\n"
                   "INVITE sip:192.0.0.2 SIP/2.0\r\nl: 0\r\n\r\n"
                   "1234567890",
              "MESSAGE sip:[2001:db8::c0de] SIP/2.0\r\n"
              "Content-Length: 48\r\nc: text/plain\r\n\r\n"
              "INVITE sip:192.0.0.2 SIP/2.0\r\nl: 0\r\n\r\n"
              "1234567890" }),
    },
    {
        .name = "SDP",
        .counters = { .alg_rewritten = 4 },
        .steps = STEPS(
            { '>', "ACK b SIP/2.0\r\nl: 18\r\nc:application/sdp\r\n\r\n"
                   "c=IN IP4 192.0.0.2" BYE4,
              "ACK b SIP/2.0\r\nl: 23\r\nc:application/sdp\r\n\r\n"
              "c=IN IP6 2001:db8::c0de" BYE6 },
            { '<', "ACK b SIP/2.0\r\nc:application/sdp\r\nl: 00025\r\n\r\n"
                   "c=IN IP6 2001:db8:5::21\r\n" BYE6,
              "ACK b SIP/2.0\r\nc:application/sdp\r\nl: 21\r\n\r\n"
              "c=IN IP4 198.18.0.5\r\n" BYE4 },
            { '>', "ACK b SIP/2.0\r\nl: 0\r\nc:application/sdp\r\n\r\n",
              NULL }),
    },
    {
        .name = "halves",
        .steps = STEPS(
            { '>', "ACK b SIP/2.0\r\nl: 10\r\n\r", "" },
            { '<', "ACK b SIP/2.0\r\nl: 10\r\nc: application/sdp\r\n\r\n"
                   "12345", "" },
            { 'x', NULL, "ACK b SIP/2.0\r\nl: 10\r\n\r"
                         "ACK b SIP/2.0\r\nl: 10\r\nc: application/sdp\r\n"
                         "\r\n12345" }),
    },
    {
        .name = "body that ends early",
        .counters = { .alg_rewritten = 1 },
        .steps = STEPS(
            { '<', "ACK sip:[2001:db8::c0de] SIP/2.0\r\nl: 10\r\n\r\n12345",
              "ACK sip:192.0.0.2 SIP/2.0\r\nl: 10\r\n\r\n12345" },
            { 'x', NULL, "" }),
    },
    {
        .name = "not SIP: HTTP",
        .counters = { .alg_rewritten = 1, .alg_malformed = 1 },
        .steps = STEPS(
            { '>', "GET / HTTP/1.1\r\n", NULL },
            { '>', "Host: 192.0.0.2\r\n\r\n" BYE4, NULL },
            { '<', BYE6 "x", BYE4 }),
    },
    {
        .name = "not SIP: TLS",
        .counters = { .alg_malformed = 2 },
        .done = true,
        .steps = STEPS(
            { '>', "\x16\x03\x01", NULL },
            { '<', "\x16\x03\x03", NULL },
            { '>', BYE4, NULL }),
    },
    {
        .name = "not SIP: suddenly",
        .counters = { .alg_rewritten = 1, .alg_malformed = 1 },
        .steps = STEPS({ '>', BYE4 "\x16\x03" BYE4, BYE6 "\x16\x03" BYE4 }),
    },
    {
        .name = "not SIP: SSH",
        .counters = { .alg_malformed = 2 },
        .done = true,
        .steps = STEPS(
            { '<', "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", NULL },
            { '>', "SSH-2.0-OpenSSH_9.2p1 Debian-2\n", NULL }),
    },
    {
        .name = "no Content-Length",
        .counters = { .alg_malformed = 1 },
        .steps = STEPS(
            { '>', "ACK sip:192.0.0.2 SIP/2.0\r\n\r\n", NULL },
            { '>', BYE4, NULL }),
    },
    {
        .name = "two of them",
        .counters = { .alg_malformed = 1 },
        .steps = STEPS(
            { '>', "ACK sip:192.0.0.2 SIP/2.0\r\nl:0\r\n"
                   "Content-Length:4\r\n\r\n1234", NULL },
            { '>', BYE4, NULL }),
    },
};

static void test_stream(gconstpointer data)
{
    alg_fx_run(VMRPC_ALG_SIP, data);
}

/* The INVITE above, and its answer. */
static void test_stream_whole(void)
{
    g_autofree char *out4 = message(invite4, sdp4);
    g_autofree char *out6 = message(invite6, sdp6);
    g_autofree char *in6 = message(ok6, sdp6);
    g_autofree char *in4 = message(ok4, sdp4);
    const AlgSession session = {
        .name = "whole",
        .counters = { .alg_rewritten = 2 },
        .steps = STEPS({ '>', out4, out6 }, { '<', in6, in4 }),
    };

    alg_fx_run(VMRPC_ALG_SIP, &session);
}

/* Sends or receives @in; checks that it arrives as @want. */
static void expect(AlgFx *fx, VmrpcAlgDir dir, const GString *in,
                   const GString *want)
{
    GString *got = dir == OUT ? fx->sent : fx->received;

    g_string_truncate(got, 0);
    if (dir == OUT) {
        alg_fx_send(fx, in->str, in->len);
    } else {
        alg_fx_recv(fx, in->str, in->len);
    }
    g_assert_cmpuint(got->len, ==, want->len);
    g_assert_cmpmem(got->str, got->len, want->str, want->len);
}

/* A message with an SDP that is @len long in all, and one behind it. */
static GString *sized(VmrpcAlgDir dir, size_t len, const char *bye)
{
    const char *addr = dir == OUT ? "IP4 192.0.0.2" : "IP6 2001:db8::c0de";
    GString *text = g_string_new(NULL);
    size_t body = 0;

    for (int round = 0; round < 2; round++) {
        g_string_printf(text, "ACK b SIP/2.0\r\nl: %05zu\r\n"
                        "c: application/sdp\r\n\r\n", body);
        body = len - text->len;
    }
    g_string_append_printf(text, "c=IN %s\r\ns=", addr);
    while (text->len < len) {
        g_string_append_c(text, 'x');
    }
    return g_string_append(text, bye);
}

/* At the bound of a message; beyond it only the next one is rewritten. */
static void test_long_message(void)
{
    static const AlgHow hows[] = { { .cut = 0 }, { .cut = 100 },
                                   { .room = 100, .buffer = 100 } };

    for (size_t i = 0; i < G_N_ELEMENTS(hows) * 4; i++) {
        const AlgHow *how = &hows[i / 4];
        VmrpcAlgDir dir = i & 1 ? OUT : IN;
        bool fits = i & 2;
        size_t len = VMRPC_ALG_SIP_MAX + !fits;
        ssize_t growth = strlen("2001:db8::c0de") - strlen("192.0.0.2");
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, how);
        const char *bye = dir == OUT ? BYE4 : BYE6;
        const char *new_bye = dir == OUT ? BYE6 : BYE4;
        g_autoptr(GString) in = sized(dir, len, bye), want = NULL;

        if (fits) {
            want = sized(dir == OUT ? IN : OUT,
                         len + (dir == OUT ? growth : -growth), new_bye);
        } else {
            want = g_string_new_len(in->str, len);
            g_string_append(want, new_bye);
        }
        expect(fx, dir, in, want);
        g_assert_cmpuint(fx->counters.alg_too_long, ==, !fits);
        alg_fx_free(fx);
    }
}

/* A header without an end: nothing more is understood. */
static void test_long_header(void)
{
    static const AlgHow hows[] = { { .cut = 0 }, { .cut = 100 } };

    for (size_t i = 0; i < G_N_ELEMENTS(hows); i++) {
        AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &hows[i]);
        g_autoptr(GString) in = g_string_new("ACK sip:192.0.0.2 SIP/2.0\r\n");
        g_autoptr(GString) bye = g_string_new(BYE4);

        while (in->len < VMRPC_ALG_SIP_MAX) {
            g_string_append_c(in, 'x');
        }
        expect(fx, OUT, in, in);
        expect(fx, OUT, bye, bye);
        g_assert_cmpuint(fx->counters.alg_too_long, ==, 1);
        alg_fx_free(fx);
    }
}

/* A body that passes goes from the host straight into the guest's memory. */
static void test_large_body(void)
{
    static const AlgHow how = { .vectors = 10000 };
    AlgFx *fx = alg_fx_new(VMRPC_ALG_SIP, false, &how);
    g_autoptr(GString) bye = g_string_new(BYE6);
    g_autoptr(GString) in = NULL;

    in = g_string_new("ACK b SIP/2.0\r\nl: 500000\r\nc: text/plain\r\n\r\n");
    for (int i = 0; i < 500000; i++) {
        g_string_append_c(in, "\r\nINVITE sip:b SIP/2.0"[i % 22]);
    }
    expect(fx, IN, in, in);
    expect(fx, OUT, in, in);
    g_string_assign(in, BYE4);
    expect(fx, OUT, in, bye);
    expect(fx, IN, bye, in);
    alg_fx_free(fx);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-alg-sip/message/whole", test_whole);
    g_test_add_func("/vmrpc-alg-sip/message/there-and-back",
                    test_there_and_back);
    g_test_add_func("/vmrpc-alg-sip/message/headers", test_headers);
    g_test_add_func("/vmrpc-alg-sip/message/request-uri", test_request_uri);
    g_test_add_func("/vmrpc-alg-sip/message/sdp", test_sdp);
    g_test_add_func("/vmrpc-alg-sip/datagram/length", test_datagram_length);
    g_test_add_func("/vmrpc-alg-sip/datagram/empty", test_datagram_empty);
    g_test_add_func("/vmrpc-alg-sip/datagram/large", test_large_datagram);
    g_test_add_func("/vmrpc-alg-sip/datagram/many-addresses",
                    test_many_addresses);
    g_test_add_func("/vmrpc-alg-sip/datagram/hostile-headers",
                    test_hostile_headers);
    for (size_t i = 0; i < G_N_ELEMENTS(sessions); i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc-alg-sip/stream/%s",
                                                sessions[i].name);

        g_test_add_data_func(path, &sessions[i], test_stream);
    }
    g_test_add_func("/vmrpc-alg-sip/stream/whole", test_stream_whole);
    g_test_add_func("/vmrpc-alg-sip/stream/long-message", test_long_message);
    g_test_add_func("/vmrpc-alg-sip/stream/long-header", test_long_header);
    g_test_add_func("/vmrpc-alg-sip/stream/large-body", test_large_body);
    return g_test_run();
}
