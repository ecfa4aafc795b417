/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of HTTP/1 in any parts: whom they name, and what is refused */

#include <string.h>

#include "tests/fixtures/hello-fixture.h"

#define HOST    "Host: www.example.com\r\n"
#define NAME    "www.example.com"
#define GET     "GET / HTTP/1.1\r\n"
#define POST    "POST / HTTP/1.1\r\n" HOST

/* Every way to cut the stream gives the same, and so does one that copies. */
static void check_stream(const char *text, size_t len, const char *want)
{
    const uint8_t *stream = (const uint8_t *)text;
    bool refused = strstr(want, "refused: ");
    size_t sent, whole;
    g_autofree char *got = head_play(stream, len, 0, 0, false, &whole);

    g_assert_cmpstr(got, ==, want);
    for (size_t first = 1; first <= MIN(len, 400); first++) {
        /* Octet by octet takes its time. */
        for (size_t cut = 0; cut < (len < 1000 && first < 60 ? 2 : 1); cut++) {
            g_autofree char *other = head_play(stream, len, first, cut, true,
                                               &sent);

            g_assert_cmpstr(other, ==, want);
            g_assert_true(refused || sent == whole);
            g_assert_true(sent == 0 || !g_str_has_prefix(want, "refused: "));
        }
    }
}

static void check(const char *text, const char *want)
{
    check_stream(text, strlen(text), want);
}

/* A request that is well-formed but for these lines */
static void check_fields(const char *fields, const char *want)
{
    g_autofree char *text = g_strconcat("POST / HTTP/1.1\r\n", fields, "\r\n",
                                        NULL);

    check(text, want);
}

static void test_names(void)
{
    check(GET HOST "\r\n", NAME);
    check("GET / HTTP/1.0\r\n" HOST "\r\n", NAME);
    check("OPTIONS * HTTP/1.1\r\n" HOST "\r\n", NAME);
    check(GET "hOST:\t WWW.Example.COM:8080 \t\r\n\r\n", NAME);
    check(GET "Host:www.example.com:\r\n\r\n", NAME);
    check("GET http://www.EXAMPLE.com:80/a?b HTTP/1.1\r\n" HOST "\r\n", NAME);
    check("GET http://www.example.com HTTP/1.1\r\n" HOST "\r\n", NAME);
    check("GET /\303\274 HTTP/1.1\r\nX: \377\t y\r\n" HOST "\r\n", NAME);
    check(GET "\r\n", "refused: no-name");
    check("GET / HTTP/1.0\r\n\r\n", "refused: no-name");
    check_fields("Host:\r\n", "refused: no-name");
    check_fields("Host: 192.0.2.1\r\n", "refused: no-name");
    check_fields("Host: [2001:db8::1]:80\r\n", "refused: no-name");
    check_fields("Host: www.example.com.\r\n", "refused: malformed");
    check_fields("Host: a.test, b.test\r\n", "refused: malformed");
    check_fields("Host: user@www.example.com\r\n", "refused: malformed");
    check_fields("Host: www.example.com:80:80\r\n", "refused: malformed");
    check_fields("Host: www.example.com:8o\r\n", "refused: malformed");
    check_fields(HOST HOST, "refused: malformed");
    check_fields(HOST "host: b.test\r\n", "refused: malformed");
    check("GET http://b.test/ HTTP/1.1\r\n" HOST "\r\n", "refused: malformed");
    check("GET http://a@www.example.com/ HTTP/1.1\r\n" HOST "\r\n",
          "refused: malformed");
    check("GET https://www.example.com/ HTTP/1.1\r\n" HOST "\r\n",
          "refused: malformed");
    check("GET www.example.com/ HTTP/1.1\r\n" HOST "\r\n",
          "refused: malformed");
}

static void test_others(void)
{
    static const char tls[] = "\x16\x03\x01\0\xa0\1";

    check_stream(tls, sizeof(tls) - 1, "refused: not-http");
    check("SSH-2.0-OpenSSH_9.2\r\n", "refused: not-http");
    check("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "refused: not-http");
    check("CONNECT b.test:443 HTTP/1.1\r\n" HOST "\r\n", "refused: not-http");
    check("GET / HTTP/1.2\r\n", "refused: not-http");
    check("GET / http/1.1\r\n", "refused: not-http");
    check("GET /\r\n", "refused: not-http");
    check("\r\n" GET HOST "\r\n", "refused: not-http");
    check("GE(T / HTTP/1.1\r\n", "refused: not-http");
    check_fields(HOST "Upgrade: websocket\r\n", "refused: not-http");
    check_fields(HOST "Upgrade: h2c\r\n", "refused: not-http");
    check("", "");
}

static void test_lines(void)
{
    check("GET / HTTP/1.1\n" HOST "\r\n", "refused: malformed");
    check(GET "Host: www.example.com\n\r\n", "refused: malformed");
    check(GET HOST "\n", "refused: malformed");
    check(GET "X: a\rb\r\n" HOST "\r\n", "refused: malformed");
    check(GET "X: a\001b\r\n" HOST "\r\n", "refused: malformed");
    check_stream(GET "X: a\0b\r\n", sizeof(GET) + 7, "refused: malformed");
    check("GET  / HTTP/1.1\r\n", "refused: not-http");
    check("GET /a b HTTP/1.1\r\n", "refused: not-http");
    check("GET\t/ HTTP/1.1\r\n", "refused: not-http");
    check_fields(HOST " folded: yes\r\n", "refused: malformed");
    check_fields("Host: www.example.com\r\n\tb.test\r\n",
                 "refused: malformed");
    check_fields("Host : www.example.com\r\n", "refused: malformed");
    check_fields(HOST "no colon\r\n", "refused: malformed");
    check_fields(HOST ": nothing\r\n", "refused: malformed");
    check_fields(HOST "a\"b: c\r\n", "refused: malformed");
}

static void test_lengths(void)
{
    check(POST "Content-Length: 5\r\n\r\nhello" GET HOST "\r\n",
          NAME ", " NAME);
    check(POST "Content-Length: 0\r\n\r\n" GET "Host: b.test\r\n\r\n",
          NAME ", b.test");
    /* A head in a body is none, and one behind it is. */
    check(POST "Content-Length: 33\r\n\r\n" GET "Host: b.test\r\n\r\nx"
          GET "Host: c.test\r\n\r\n", NAME ", c.test");
    check(POST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"
          "x", NAME);
    check_fields(HOST "Content-Length: 5\r\nContent-Length: 5\r\n",
                 "refused: malformed");
    check_fields(HOST "Content-Length: 5, 5\r\n", "refused: malformed");
    check_fields(HOST "Content-Length: +5\r\n", "refused: malformed");
    check_fields(HOST "Content-Length: 0x5\r\n", "refused: malformed");
    check_fields(HOST "Content-Length:\r\n", "refused: malformed");
    check_fields(HOST "Content-Length: 1000000000000000000\r\n",
                 "refused: malformed");
    check_fields(HOST "Content_Length: 5\r\n", "refused: malformed");
    check_fields(HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                 "refused: malformed");
    check_fields(HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                 "refused: malformed");
    check_fields(HOST "Transfer-Encoding: gzip, chunked\r\n",
                 "refused: malformed");
    check_fields(HOST "Transfer-Encoding: identity\r\n", "refused: malformed");
    check_fields(HOST "Transfer-Encoding: chunked\r\n"
                 "Transfer-Encoding: chunked\r\n", "refused: malformed");
    check_fields(HOST "Transfer_Encoding: chunked\r\n", "refused: malformed");
    check("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
          "refused: malformed");
}

#define CHUNKED POST "Transfer-Encoding: Chunked\r\n\r\n"

static void test_chunks(void)
{
    check(CHUNKED "5\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n"
          GET "Host: b.test\r\n\r\n", NAME ", b.test");
    check(CHUNKED "0\r\n\r\n" GET HOST "\r\n", NAME ", " NAME);
    check(CHUNKED "00010\r\n" GET "\r\n0\r\n\r\n" GET "Host: b.test\r\n\r\n",
          NAME ", b.test");
    check(CHUNKED "\r\n", NAME ", refused: malformed");
    check(CHUNKED "5;a=b\r\nhello\r\n", NAME ", refused: malformed");
    check(CHUNKED "5 \r\nhello\r\n", NAME ", refused: malformed");
    check(CHUNKED "0x5\r\nhello\r\n", NAME ", refused: malformed");
    check(CHUNKED "5\nhello\r\n", NAME ", refused: malformed");
    check(CHUNKED "5\rhello\r\n", NAME ", refused: malformed");
    check(CHUNKED "5\r\nhello\n0\r\n\r\n", NAME ", refused: malformed");
    check(CHUNKED "5\r\nhello!\r\n", NAME ", refused: malformed");
    check(CHUNKED "0\r\nX: y\r\n\r\n", NAME ", refused: malformed");
    check(CHUNKED "fffffffffffffff\r\nx", NAME);
    check(CHUNKED "0fffffffffffffff\r\nx", NAME ", refused: malformed");
}

static void test_sizes(void)
{
    static const size_t sizes[] = { 16383, 16384, 16385, 40000 };

    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        size_t others = strlen(GET HOST "X: \r\n\r\n");
        g_autofree char *value = g_strnfill(sizes[i] - others, 'x');
        g_autofree char *text = g_strconcat(GET HOST "X: ", value, "\r\n\r\n",
                                            NULL);

        check(text, sizes[i] > VMRPC_SAID_KEEP_MAX ? "refused: too-long"
                                                   : NAME);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/head/names", test_names);
    g_test_add_func("/head/others", test_others);
    g_test_add_func("/head/lines", test_lines);
    g_test_add_func("/head/lengths", test_lengths);
    g_test_add_func("/head/chunks", test_chunks);
    g_test_add_func("/head/sizes", test_sizes);
    return g_test_run();
}
