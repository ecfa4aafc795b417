/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FTP between an IPv4 guest and IPv6 peers: whole sessions */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/fixtures/alg-fixture.h"

#define STEPS(...) (const AlgStep []) { __VA_ARGS__, { 0, NULL, NULL } }

#define PASV_SEEN       "227 Entering Passive Mode (198,18,0,5,195,80).\r\n"
#define EPSV_REPLY      "229 Entering Extended Passive Mode (|||50000|)\r\n"
#define CANNOT          "425 Can't open data connection.\r\n"

static const AlgSession client_sessions[] = {
    {
        .name = "passive",
        .counters = { .alg_rewritten = 2 },
        .steps = STEPS(
            { '<', "220-Welcome\r\n229 is no reply here\r\n"
                   "220 ready\r\n", NULL },
            { '>', "USER anonymous\r\n", NULL },
            { '<', "331 Password?\r\n", NULL },
            { '>', "PASS me@\r\n", NULL },
            { '<', "230 Welcome.\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY, PASV_SEEN },
            { '>', "RETR file\r\n", NULL },
            { '<', "150 Opening\r\n", NULL },
            { '<', "226 Done\r\n", NULL },
            { '>', "QUIT\r\n", NULL },
            { '<', "221 Bye\r\n", NULL }),
    },
    {
        .name = "spelling",
        .counters = { .alg_rewritten = 10 },
        .steps = STEPS(
            { '<', "220 ready\n", NULL },
            { '>', "pasv\n", "EPSV\n" },
            { '<', "229 (!!!1!)\n",
              "227 Entering Passive Mode (198,18,0,5,0,1).\n" },
            { '>', "PaSv  \r\n", "EPSV\r\n" },
            /* parentheses in the text, and the line without a text */
            { '<', "229 Ok (really) ((|||65535|)\r\n",
              "227 Entering Passive Mode (198,18,0,5,255,255).\r\n" },
            { '>', "Port 192,0,0,2,0,21\n",
              "EPRT |2|2001:db8::c0de|21|\n" },
            { '<', "200 Ok\r\n", NULL },
            { '>', "EPRT  |1|192.0.0.2|65535| \r\n",
              "EPRT |2|2001:db8::c0de|65535|\r\n" },
            { '<', "200 Ok\r\n", NULL },
            { '>', "EPRT !1!192.0.0.2!7!\r\n",
              "EPRT |2|2001:db8::c0de|7|\r\n" },
            { '<', "200 Ok\r\n", NULL },
            { '>', "PORT 192,0,0,2,255,255\r\nEPRT |1|192.0.0.2|1|\r\n",
              "EPRT |2|2001:db8::c0de|65535|\r\n"
              "EPRT |2|2001:db8::c0de|1|\r\n" },
            { '<', "200 Ok\r\n200 Ok\r\n", NULL },
            { '>', "epsv 1\r\n", "EPSV 2\r\n" },
            { '<', EPSV_REPLY, NULL }),
    },
    {
        .name = "extended passive",
        .counters = { .alg_rewritten = 2 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "EPSV ALL\r\n", NULL },
            { '<', "200 EPSV ALL ok\r\n", NULL },
            { '>', "EPSV\r\n", NULL },
            { '<', EPSV_REPLY, NULL },
            { '>', "EPSV 2\r\n", NULL },
            { '<', EPSV_REPLY, NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY, PASV_SEEN }),
    },
    {
        .name = "foreign addresses",
        .counters = { .alg_refused = 3 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "PORT 198,18,0,5,0,25\r\n", "PORT\r\n" },
            { '<', "501 Illegal PORT command.\r\n", NULL },
            { '>', "eprt |1|127.0.0.1|25|\n", "EPRT\n" },
            { '<', "501 Illegal EPRT command.\r\n", NULL },
            { '>', "EPRT |2|2001:db8::c0de|25|\r\n", "EPRT\r\n" },
            { '<', "501 Illegal EPRT command.\r\n", NULL }),
    },
    {
        .name = "malformed commands",
        .counters = { .alg_malformed = 15 },
        .steps = STEPS(
            { '>', "PORT\r\n", NULL },
            { '>', "PORT 192,0,0,2,0\r\n", NULL },
            { '>', "PORT 192,0,0,2,0,256\r\n", NULL },
            { '>', "PORT 192,0,0,2,0,21,1\r\n", NULL },
            { '>', "PORT 192,0,0,2,0,\r\n", NULL },
            { '>', "PORT 192.0.0.2.0.21\r\n", NULL },
            { '>', "PORT -1,0,0,2,0,21\r\n", NULL },
            { '>', "EPRT\r\n", NULL },
            { '>', "EPRT |1|192.0.0.2|65536|\r\n", NULL },
            { '>', "EPRT |1|192.0.0.2|21\r\n", NULL },
            { '>', "EPRT |1|192.0.0.2|21|x\r\n", NULL },
            { '>', "EPRT |3|192.0.0.2|21|\r\n", NULL },
            { '>', "EPRT |1|2001:db8::1|21|\r\n", NULL },
            { '>', "EPRT |1|11111111111111111111111111111111111111111111"
                   "11111111111111111111|1|\r\n", NULL },
            { '>', "EPRT |1\r\n", NULL }),
    },
    {
        .name = "not these commands",
        .steps = STEPS(
            { '>', "PWD\r\nPASS PASV\r\nPORTS 192,0,0,2,0,21\r\n", NULL },
            { '>', "PASV 1\r\nXPASV\r\n PASV\r\n\rPASV\r\n", NULL },
            { '>', "EPSVX\r\nP\r\n\r\n\nA\n", NULL }),
    },
    {
        .name = "server without EPSV",
        .counters = { .alg_rewritten = 4 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "500 EPSV not understood\r\n", NULL },
            { '>', "EPSV\r\n", NULL },
            { '<', EPSV_REPLY, NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "502-No\r\n229 (|||1|)\r\n502 EPSV\r\n", NULL },
            { '>', "EPSV\r\n", NULL },
            { '<', "425 No\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY, PASV_SEEN }),
    },
    {
        .name = "229 of several lines",
        .counters = { .alg_rewritten = 4 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229-Entering\r\n extended\r\n\r\n230 passive\r\n"
                   "229-mode\r\n", "" },
            { '<', "229 (|||50000|)\r\n", PASV_SEEN },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229-(|||50000|)\r\n229-(|||1|)\r\n229\r\n", PASV_SEEN }),
    },
    {
        .name = "229 without a port",
        .counters = { .alg_rewritten = 7, .alg_malformed = 6 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 Ok\r\n", CANNOT },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 Ok (||50000|)(|||0|) (\r\n", CANNOT },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 (|||65536|)\n", "425 Can't open data connection.\n" },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 (|||1|\r\n", CANNOT },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 (   1 )\r\n", CANNOT },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229\r\n", CANNOT },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "2290 no code\r\n22 no\r\n2\r\n\r\n" "229", "2290 no code"
                   "\r\n22 no\r\n2\r\n\r\n" }),
    },
    {
        .name = "pipelined",
        .counters = { .alg_rewritten = 7 },
        .steps = STEPS(
            { '>', "USER me\r\nPASS x\r\nPASV\r\nEPSV\r\nPASV\r\nNOOP\r\n"
                   "PASV\r\nRETR x\r\nPASV\r\nEPSV\r\n",
              "USER me\r\nPASS x\r\nEPSV\r\nEPSV\r\nEPSV\r\nNOOP\r\n"
              "EPSV\r\nRETR x\r\nEPSV\r\nEPSV\r\n" },
            { '<', "120 wait\r\n220 ready\r\n331 PASS\r\n230 in\r\n"
                   EPSV_REPLY EPSV_REPLY "500 no\r\n200 NOOP\r\n"
                   EPSV_REPLY "150 open\r\n550 no\r\n"
                   EPSV_REPLY EPSV_REPLY,
              "120 wait\r\n220 ready\r\n331 PASS\r\n230 in\r\n"
              PASV_SEEN EPSV_REPLY "500 no\r\n200 NOOP\r\n"
              PASV_SEEN "150 open\r\n550 no\r\n"
              PASV_SEEN EPSV_REPLY }),
    },
    {
        .name = "replies that do not match",
        .counters = { .alg_rewritten = 8 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            /* one reply too few */
            { '>', "RETR x\r\n", NULL },
            { '>', "ABOR\r\n", NULL },
            { '<', "226 aborted\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY, PASV_SEEN },
            { '>', "EPSV\r\n", NULL },
            { '<', EPSV_REPLY, NULL },
            /* none to an empty line */
            { '>', "\r\nPASV\r\n\n", "\r\nEPSV\r\n\n" },
            { '<', "500 no\r\n", NULL },
            { '>', "EPSV\r\n", NULL },
            { '<', EPSV_REPLY, NULL },
            /* replies too many */
            { '>', "\r\n", NULL },
            { '<', "500 what?\r\n500 what?\r\n500 what?\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "226 more\r\n331 more\r\n150 more\r\nand text\r\n", NULL },
            { '<', EPSV_REPLY, PASV_SEEN },
            /* of another command's time */
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY EPSV_REPLY, PASV_SEEN EPSV_REPLY },
            { '>', "PASV\r\nEPSV\r\n", "EPSV\r\nEPSV\r\n" },
            { '<', "425 no\r\n" EPSV_REPLY, NULL }),
    },
    {
        .name = "Telnet",
        .counters = { .alg_rewritten = 4, .alg_malformed = 1 },
        .steps = STEPS(
            { '<', "\xff\xfb\x01" "220 ready\r\n", NULL },
            { '>', "\xff\xf4\xff\xf2" "ABOR\r\n", NULL },
            { '<', "226 none\r\n", NULL },
            { '>', "\xff\xf4\xff\xf2\xff\xfc\nPASV\r\n",
              "\xff\xf4\xff\xf2\xff\xfc\nEPSV\r\n" },
            { '<', "\xff\xfd\xff" EPSV_REPLY, "\xff\xfd\xff" PASV_SEEN },
            /* the byte 255 is text */
            { '>', "\xff\xffPASV\r\n", NULL },
            { '<', "500 what?\r\n", NULL },
            { '>', "PA\xff\xf1SV\r\n", NULL },
            { '<', "500 what?\r\n", NULL },
            { '>', "PORT 192,0,0,2,\xff\xf1" "0,21\r\n", NULL },
            { '<', "501 what?\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "\xff\xf1" "2\xff\xf1" "2\xff\xf1" "0 x\r\n" EPSV_REPLY,
              "\xff\xf1" "2\xff\xf1" "2\xff\xf1" "0 x\r\n" PASV_SEEN }),
    },
    {
        .name = "AUTH TLS",
        .done = true,
        .counters = { .alg_rewritten = 2 },
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "AUTH SSL\r\n", NULL },
            { '<', "504 no\r\n", NULL },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', EPSV_REPLY, PASV_SEEN },
            { '>', "AUTH TLS\r\n", NULL },
            { '<', "234-go\r\n234 ahead\r\n229 ", NULL },
            { '>', "PASV\r\nPORT 198,18,0,5,0,25\r\n\x16\x03\x01", NULL },
            { '<', EPSV_REPLY "\x16\x03\x01", NULL }),
    },
    {
        .name = "AUTH GSSAPI",
        .done = true,
        .steps = STEPS(
            { '<', "220 ready\r\n", NULL },
            { '>', "auth GSSAPI\r\n", NULL },
            { '<', "334 continue\r\n", NULL },
            { '>', "ADAT YGgGCSqGSIb3EgECAgEAb\r\n", NULL },
            { '<', "235 ADAT=YGgGCSqGSIb3\r\n", NULL },
            { '>', "PASV\r\n", NULL }),
    },
    {
        .name = "AUTH in the middle of something",
        .done = true,
        .steps = STEPS(
            { '<', "234 not yet\r\n", NULL },
            { '>', "AUTH TLS\r\nPAS", "AUTH TLS\r\n" },
            { '<', "234 now\r\n", NULL },
            { '>', "V\r\n", "PASV\r\n" }),
    },
    {
        .name = "halves",
        .counters = { .alg_rewritten = 3 },
        .steps = STEPS(
            { '>', "P", "" },
            { '>', "W", "PW" },
            { '>', "D\r\nPAS", "D\r\n" },
            { '>', "V", "" },
            { '>', "\r", "" },
            { '>', "\n", "EPSV\r\n" },
            { '<', "22", "" },
            { '<', "0 ready\r\n2", "220 ready\r\n" },
            { '<', "57 /\r\n22", "257 /\r\n" },
            { '<', "9 (|||5", "" },
            { '<', "0000|)\r\n", PASV_SEEN },
            { '>', "PASV\r\n", "EPSV\r\n" },
            { '<', "229 (|||500", "" },
            { '>', "PORT 192,0", "" },
            { 'x', NULL, "PORT 192,0" "229 (|||500" }),
    },
};

static const AlgSession server_sessions[] = {
    {
        .name = "server",
        .guest_is_server = true,
        .counters = {
            .alg_rewritten = 3, .alg_refused = 4, .alg_unmapped = 1,
            .alg_malformed = 1,
        },
        .steps = STEPS(
            { '>', "220 ready\r\n", NULL },
            { '<', "EPSV\r\n", NULL },
            { '>', EPSV_REPLY, NULL },
            { '<', "EPSV 2\r\n", "EPSV 1\r\n" },
            { '>', EPSV_REPLY, NULL },
            { '<', "EPSV 1\r\nEPSV ALL\r\n", NULL },
            { '>', EPSV_REPLY "200 ok\r\n", NULL },
            { '<', "EPRT |2|2001:db8:5::21|50000|\r\n",
              "EPRT |1|198.18.0.5|50000|\r\n" },
            { '>', "200 ok\r\n", NULL },
            { '<', "eprt |2|2001:DB8:5:0:0:0:0:22|1|\n",
              "EPRT |1|198.18.0.6|1|\n" },
            { '>', "200 ok\r\n", NULL },
            { '<', "EPRT |2|2001:db8:5::23|1|\r\n", "EPRT\r\n" },
            { '<', "EPRT |1|198.18.0.6|1|\r\n", "EPRT\r\n" },
            { '<', "PORT 198,18,0,6,0,1\r\n", "PORT\r\n" },
            { '<', "port\r\n", "PORT\r\n" },
            { '<', "EPRT |2|198.18.0.6|1|\r\n", NULL },
            { '<', "PASV\r\n", NULL },
            { '>', "227 Entering Passive Mode (192,0,0,2,195,80)\r\n", NULL },
            { '<', "EP", "" },
            { 'x', NULL, "EP" }),
    },
    {
        .name = "server with TLS in the middle of something",
        .guest_is_server = true,
        .done = true,
        .steps = STEPS(
            { '>', "220 ready\r\n", NULL },
            { '<', "AUTH TLS\r\nEP", "AUTH TLS\r\n" },
            { '>', "234 go\r\n", NULL },
            { '<', "SV 2\r\n", "EPSV 2\r\n" }),
    },
    {
        .name = "server with TLS",
        .guest_is_server = true,
        .done = true,
        .steps = STEPS(
            { '>', "220 ready\r\n", NULL },
            { '<', "AUTH TLS\r\n", NULL },
            { '>', "234 go\r\n\x16", NULL },
            { '<', "EPSV 2\r\nPORT 1,2,3,4,5,6\r\n", NULL }),
    },
};

static void test_sessions(gconstpointer data)
{
    alg_fx_run(VMRPC_ALG_FTP, data);
}

static void add_sessions(const AlgSession *sessions, size_t num)
{
    for (size_t i = 0; i < num; i++) {
        g_autofree char *path = g_strdup_printf("/vmrpc-alg-ftp/session/%s",
                                                sessions[i].name);

        g_test_add_data_func(path, &sessions[i], test_sessions);
    }
}

static const AlgHow plain = { .cut = 0 };

static void send_text(AlgFx *fx, const char *text)
{
    alg_fx_send(fx, text, strlen(text));
}

static void recv_text(AlgFx *fx, const char *text)
{
    alg_fx_recv(fx, text, strlen(text));
}

static void test_proto(void)
{
    VmrpcAlgProto sip = VMRPC_HAS_SIP ? VMRPC_ALG_SIP : VMRPC_ALG_NONE;

    g_assert_cmpint(vmrpc_alg_proto(SOCK_STREAM, 21), ==, VMRPC_ALG_FTP);
    g_assert_cmpint(vmrpc_alg_proto(SOCK_DGRAM, 21), ==, VMRPC_ALG_NONE);
    g_assert_cmpint(vmrpc_alg_proto(SOCK_STREAM, 20), ==, VMRPC_ALG_NONE);
    g_assert_cmpint(vmrpc_alg_proto(SOCK_STREAM, 5060), ==, sip);
    g_assert_cmpint(vmrpc_alg_proto(SOCK_DGRAM, 5060), ==, sip);
    g_assert_cmpint(vmrpc_alg_proto(SOCK_STREAM, 5061), ==, VMRPC_ALG_NONE);
}

/* A command up to the bound is looked at; one byte more and it passes. */
static void test_long_command(void)
{
    for (size_t len = VMRPC_ALG_FTP_LINE_MAX - 2;
         len < VMRPC_ALG_FTP_LINE_MAX + 3; len++) {
        bool fits = len <= VMRPC_ALG_FTP_LINE_MAX;
        g_autofree char *line = g_strnfill(len, ' ');
        AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);

        memcpy(line, "PASV", 4);
        memcpy(line + len - 2, "\r\n", 2);
        send_text(fx, line);
        send_text(fx, "PASV\r\n");
        if (fits) {
            g_assert_cmpstr(fx->sent->str, ==, "EPSV\r\nEPSV\r\n");
        } else {
            g_assert_true(g_str_has_prefix(fx->sent->str, line));
            g_assert_cmpstr(fx->sent->str + len, ==, "EPSV\r\n");
        }
        g_assert_cmpuint(fx->counters.alg_too_long, ==, !fits);
        /* Either was counted as a command. */
        recv_text(fx, "220 ready\r\n");
        recv_text(fx, "500 no\r\n");
        recv_text(fx, EPSV_REPLY);
        g_assert_true(g_str_has_suffix(fx->received->str, PASV_SEEN));
        alg_fx_free(fx);
    }
}

/* Bytes of no interest go straight through, however many. */
static void test_long_lines(void)
{
    g_autofree char *line = g_strnfill(100000, 'x');
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);

    send_text(fx, line);
    recv_text(fx, line);
    g_assert_cmpstr(fx->sent->str, ==, line);
    g_assert_cmpstr(fx->received->str, ==, line);
    alg_fx_free(fx);
}

/* A 229 that is replaced may be as long as it wants. */
static void test_long_reply(void)
{
    g_autofree char *text = g_strnfill(100000, 'x');
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);

    send_text(fx, "PASV\r\nPASV\r\nPASV\r\n");
    /* one that only begins so passes */
    recv_text(fx, "22");
    recv_text(fx, text);
    recv_text(fx, "\r\n220 ready\r\n");
    g_assert_true(g_str_has_prefix(fx->received->str, "22xxx"));
    g_assert_cmpuint(fx->received->len, ==,
                     strlen("22") + strlen(text) + strlen("\r\n220 ready\r\n"));
    g_string_truncate(fx->received, 0);
    recv_text(fx, "229-");
    recv_text(fx, text);
    recv_text(fx, "\r\n");
    recv_text(fx, text);
    recv_text(fx, "\r\n");
    g_assert_cmpuint(fx->received->len, ==, 0);
    recv_text(fx, EPSV_REPLY);
    g_assert_cmpstr(fx->received->str, ==, PASV_SEEN);
    /* the port within the bound, and behind it */
    g_string_truncate(fx->received, 0);
    recv_text(fx, "229 (|||50000|)");
    recv_text(fx, text);
    recv_text(fx, "\n");
    recv_text(fx, "229 ");
    recv_text(fx, text);
    recv_text(fx, "(|||50000|)\r\n");
    g_assert_cmpstr(fx->received->str, ==,
                    "227 Entering Passive Mode (198,18,0,5,195,80).\n"
                    "425 Can't open data connection.\n");
    alg_fx_free(fx);
}

/* More of them than are remembered are the server's to refuse. */
static void test_many_passive(void)
{
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);

    for (int i = 0; i < VMRPC_ALG_FTP_PASSIVE_MAX; i++) {
        send_text(fx, "PASV\r\n");
    }
    g_string_truncate(fx->sent, 0);
    send_text(fx, "PASV\r\nEPSV\r\n");
    g_assert_cmpstr(fx->sent->str, ==, "PASV\r\nEPSV\r\n");
    recv_text(fx, "220 ready\r\n");
    for (int i = 0; i < VMRPC_ALG_FTP_PASSIVE_MAX; i++) {
        g_string_truncate(fx->received, 0);
        recv_text(fx, EPSV_REPLY);
        g_assert_cmpstr(fx->received->str, ==, PASV_SEEN);
    }
    g_string_truncate(fx->received, 0);
    recv_text(fx, "425 IPv6\r\n");
    recv_text(fx, EPSV_REPLY);
    g_assert_cmpstr(fx->received->str, ==, "425 IPv6\r\n" EPSV_REPLY);
    g_string_truncate(fx->sent, 0);
    send_text(fx, "PASV\r\n");
    g_assert_cmpstr(fx->sent->str, ==, "EPSV\r\n");
    alg_fx_free(fx);
}

/* The guest's buffer changes under our hands: that is its own affair. */
static void test_scribble(void)
{
    static const AlgHow how = { .room = 3, .scribble = true };
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &how);

    for (int i = 0; i < 100; i++) {
        send_text(fx, "USER me\r\nPASV\r\nPORT 1,2,3,4,5,6\r\nNOOP\r\n");
    }
    alg_fx_end(fx);
    alg_fx_free(fx);
}

/* --- what the socket calls must be able to rely on ------------------------ */

typedef struct Socket {
    int error;
    bool peeked;
    size_t left;
} Socket;

static ssize_t failing_send(void *opaque, const void *data, size_t len)
{
    Socket *s = opaque;
    size_t n = MIN(len, s->left);

    s->left -= n;
    return n ? (ssize_t)n : -s->error;
}

static ssize_t failing_recv(void *opaque, const struct iovec *iov,
                            unsigned num, bool peek)
{
    Socket *s = opaque;

    s->peeked = peek;
    return -s->error;
}

static void test_errors(void)
{
    static const char line[] = "NOOP\r\nPASV\r\n";
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);
    Socket s = { .error = EPIPE, .left = 8 };
    VmrpcAlgIo io = { failing_send, failing_recv, NULL, &s };
    struct iovec iov = { (void *)line, strlen(line) };
    char buf[8];
    struct iovec room = { buf, sizeof(buf) };

    /* All of NOOP is out, of EPSV two bytes: PASV's LF is not taken. */
    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 1, &io), ==, 11);
    iov.iov_base = (void *)(line + 11);
    iov.iov_len = 1;
    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 1, &io), ==, -EPIPE);
    s.left = 1;
    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 1, &io), ==, -EPIPE);
    s.left = 3;
    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 1, &io), ==, 1);
    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 0, &io), ==, 0);

    s.error = ECONNRESET;
    g_assert_cmpint(vmrpc_alg_recv(fx->alg, &room, 1, false, &io), ==,
                    -ECONNRESET);
    /* A guest without a buffer is the host's to judge. */
    g_assert_cmpint(vmrpc_alg_recv(fx->alg, &room, 0, true, &io), ==,
                    -ECONNRESET);
    g_assert_true(s.peeked);
    alg_fx_free(fx);
}

/* The byte that was not taken need not come again. */
static void test_changed_mind(void)
{
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);
    Socket s = { .error = EAGAIN, .left = 0 };
    VmrpcAlgIo io = { failing_send, failing_recv, NULL, &s };
    struct iovec iov = { (void *)"PASV\r\n", 6 };

    g_assert_cmpint(vmrpc_alg_send(fx->alg, &iov, 1, &io), ==, 5);
    send_text(fx, "NOOP\r\n");
    g_assert_cmpstr(fx->sent->str, ==, "EPSV\r\nNOOP\r\n");
    alg_fx_free(fx);
}

/* What is rewritten can be read bit by bit, and SIOCINQ knows of it. */
static void test_unread(void)
{
    static const AlgHow how = { .buffer = 10 };
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &how);
    size_t total = strlen(PASV_SEEN), got = 0;

    recv_text(fx, "220 ready\r\n");
    send_text(fx, "PASV\r\n");
    g_assert_cmpuint(vmrpc_alg_unread(fx->alg), ==, 0);
    g_string_append(fx->queue, EPSV_REPLY);
    while (got < total) {
        ssize_t n = alg_fx_recv_once(fx);
        size_t on_host = fx->queue->len - fx->queue_pos;

        g_assert_cmpint(n, ==, MIN(10, total - got));
        got += n;
        g_assert_cmpuint(vmrpc_alg_unread(fx->alg) + on_host, ==, total - got);
        g_assert_cmpuint(on_host, ==, got < total);
    }
    g_assert_cmpint(alg_fx_recv_once(fx), ==, -EAGAIN);
    alg_fx_free(fx);
}

/* Replies ahead of one that will change come straight to the guest, too. */
static void test_in_place(void)
{
    static const char text[] = "220 ready\r\n331 go on\r\n";
    AlgHow how = { };

    for (how.vectors = 0; how.vectors < 8; how.vectors += 7) {
        AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &how);

        send_text(fx, "USER me\r\nPASV\r\n");
        recv_text(fx, text);
        g_assert_cmpuint(fx->in_place, ==, strlen(text));
        /* what replaces a line does not */
        recv_text(fx, EPSV_REPLY);
        g_assert_cmpuint(fx->in_place, ==, strlen(text));
        g_assert_cmpstr(fx->received->str + strlen(text), ==, PASV_SEEN);
        alg_fx_free(fx);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_sessions(client_sessions, G_N_ELEMENTS(client_sessions));
    add_sessions(server_sessions, G_N_ELEMENTS(server_sessions));
    g_test_add_func("/vmrpc-alg-ftp/proto", test_proto);
    g_test_add_func("/vmrpc-alg-ftp/long/command", test_long_command);
    g_test_add_func("/vmrpc-alg-ftp/long/lines", test_long_lines);
    g_test_add_func("/vmrpc-alg-ftp/long/reply", test_long_reply);
    g_test_add_func("/vmrpc-alg-ftp/many-passive", test_many_passive);
    g_test_add_func("/vmrpc-alg-ftp/scribble", test_scribble);
    g_test_add_func("/vmrpc-alg-ftp/errors", test_errors);
    g_test_add_func("/vmrpc-alg-ftp/changed-mind", test_changed_mind);
    g_test_add_func("/vmrpc-alg-ftp/unread", test_unread);
    g_test_add_func("/vmrpc-alg-ftp/in-place", test_in_place);
    return g_test_run();
}
