/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Another vCPU writes to what a gateway is about to copy
 *
 * The linker puts __wrap_vmrpc_alg_hold() before the one place that copies.
 */
#include <string.h>

#include "hw/vmrpc/alg/alg-flow.h"
#include "hw/vmrpc/alg/alg-ftp-command.h"
#include "tests/fixtures/alg-fixture.h"

#define NOOP            "NOOP\r\n"

void __real_vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len);
void __wrap_vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len);

/* What the memory is when it is copied; NULL: as it was */
static const char *later;
static GString *memory;

void __wrap_vmrpc_alg_hold(VmrpcAlgFlow *flow, const void *data, size_t len)
{
    if (later) {
        memcpy(memory->str, later, memory->len);
        later = NULL;
    }
    __real_vmrpc_alg_hold(flow, data, len);
}

static ssize_t host_send(void *opaque, const void *data, size_t len)
{
    g_string_append_len(((AlgFx *)opaque)->sent, data, len);
    return len;
}

/* Sends @text, which is @changed when it is copied, until all is taken. */
static void send_changing(AlgFx *fx, const char *text, const char *changed)
{
    VmrpcAlgIo io = { .send = host_send, .opaque = fx };

    g_assert_true(!changed || strlen(changed) == strlen(text));
    memory = g_string_new(text);
    later = changed;
    while (memory->len > 0) {
        struct iovec iov = { memory->str, memory->len };
        ssize_t n = vmrpc_alg_send(fx->alg, &iov, 1, &io);

        g_assert_cmpint(n, >, 0);
        g_string_erase(memory, 0, n);
    }
    g_string_free(memory, TRUE);
}

/* What goes on, with @before and another command around it. */
static void check(VmrpcAlgProto proto, const char *before, const char *text,
                  const char *changed, const char *seen)
{
    static const AlgHow plain = { .cut = 0 };
    AlgFx *fx = alg_fx_new(proto, false, &plain);

    send_changing(fx, before, NULL);
    send_changing(fx, text, changed);
    send_changing(fx, NOOP, NULL);
    g_assert_cmpstr(fx->sent->str, ==, seen);
    alg_fx_free(fx);
}

/* The line had ended, and then it has not. */
static void test_end_goes(void)
{
    check(VMRPC_ALG_FTP, "P", "\n", "A", "PA" NOOP);
    check(VMRPC_ALG_FTP, "PAS", "\n", "V", "PASV" NOOP);
    check(VMRPC_ALG_FTP, "", "PASV\r\n", "PASV  ", "PASV  " NOOP);
}

/* The line had not ended, and then it has: two commands are two. */
static void test_end_comes(void)
{
    check(VMRPC_ALG_FTP, "", "PASV  ", "PASV\r\n", "EPSV\r\n" NOOP);
    check(VMRPC_ALG_FTP, "PA", "SV        ", "SV\r\nPASV\r\n",
          "EPSV\r\nEPSV\r\n" NOOP);
}

/* What began like a command is none. */
static void test_verb_goes(void)
{
    check(VMRPC_ALG_FTP, "", "PASV\r\n", "\n\n\n\n\r\n",
          "\n\n\n\n\r\n" NOOP);
    check(VMRPC_ALG_FTP, "PAS", "V\r\n", "x\r\n", "PASx\r\n" NOOP);
}

static void test_sip(void)
{
    check(VMRPC_ALG_SIP, "ACK sip:b SIP/2.0", "\r\n\r\n", "\n\n\n\n",
          "ACK sip:b SIP/2.0\n\n\n\n" NOOP);
}

/* A verb alone is no line, whoever says so. */
static void test_short(void)
{
    static const AlgHow plain = { .cut = 0 };
    AlgFx *fx = alg_fx_new(VMRPC_ALG_FTP, false, &plain);
    char out[VMRPC_FTP_TEXT_MAX];

    for (size_t len = 0; len <= strlen("PASV"); len++) {
        g_assert_false(vmrpc_ftp_rewrite(fx->alg, (const uint8_t *)"PASV", len,
                                         out));
    }
    alg_fx_free(fx);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc-alg-memory/end-goes", test_end_goes);
    g_test_add_func("/vmrpc-alg-memory/end-comes", test_end_comes);
    g_test_add_func("/vmrpc-alg-memory/verb-goes", test_verb_goes);
    if (VMRPC_HAS_SIP) {
        g_test_add_func("/vmrpc-alg-memory/sip", test_sip);
    }
    g_test_add_func("/vmrpc-alg-memory/short", test_short);
    return g_test_run();
}
