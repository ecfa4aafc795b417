/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echo requests and replies: what changes between the families
 */
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "hw/vmrpc/wire/ping.h"

/* RFC 1071, as a receiver checks it: everything with its checksum is 0. */
static uint16_t sum_of(const uint8_t *data, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++) {
        sum += i % 2 ? data[i] : data[i] << 8;
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return ~sum;
}

static void test_request(void)
{
    uint8_t echo[] = { 8, 0, 0x12, 0x34, 0xab, 0xcd, 0, 7 };
    const uint8_t same[] = { 0x12, 0x34, 0xab, 0xcd, 0, 7 };

    g_assert_cmpint(vmrpc_ping_to_host(echo), ==, 0);
    g_assert_cmpint(echo[0], ==, 128);
    g_assert_cmpint(echo[1], ==, 0);
    g_assert_cmpmem(echo + 2, 6, same, sizeof(same));
}

static void test_other_requests_are_refused(void)
{
    for (unsigned type = 0; type < 256; type++) {
        uint8_t header[VMRPC_PING_HEADER] = { type, type == 8 };
        uint8_t before[VMRPC_PING_HEADER];

        memcpy(before, header, sizeof(before));
        g_assert_cmpint(vmrpc_ping_to_host(header), ==, -EINVAL);
        g_assert_cmpmem(header, sizeof(header), before, sizeof(before));
    }
}

/* A message of @len octets behind @offset others, cut every @step octets. */
static void check_message(uint8_t type6, uint8_t type4, size_t len,
                          size_t offset, size_t step)
{
    g_autofree uint8_t *data = g_malloc(offset + len);
    g_autofree uint8_t *before = g_malloc(offset + len);
    g_autofree struct iovec *iov = g_new(struct iovec, offset + len);
    unsigned num = 0;

    for (size_t i = 0; i < offset + len; i++) {
        data[i] = i * 31 + 5;
    }
    data[offset] = type6;
    data[offset + 1] = 0;
    memcpy(before, data, offset + len);
    for (size_t i = 0; i < offset + len; i += step) {
        iov[num++] = (struct iovec) { data + i, MIN(step, offset + len - i) };
    }

    vmrpc_ping_to_guest(iov, num, offset, len);
    g_assert_cmpmem(data, offset, before, offset);
    g_assert_cmpint(data[offset], ==, type4);
    g_assert_cmpint(data[offset + 1], ==, 0);
    g_assert_cmpmem(data + offset + 4, len - 4, before + offset + 4, len - 4);
    g_assert_cmpint(sum_of(data + offset, len), ==, 0);
}

static void test_reply(void)
{
    static const size_t lengths[] = { 8, 9, 64, 1000, 2048, 2049, 4095, 65535 };
    static const size_t steps[] = { 1, 3, 40, 4096, 100000 };

    for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++) {
        for (size_t j = 0; j < G_N_ELEMENTS(steps); j++) {
            check_message(129, 0, lengths[i], 40, steps[j]);
        }
    }
    check_message(128, 8, 64, 41, 7);
}

/* The largest sum there is must not run over. */
static void test_all_ones(void)
{
    g_autofree uint8_t *data = g_malloc(65535);
    struct iovec iov = { data, 65535 };

    memset(data, 0xff, 65535);
    data[0] = 129;
    vmrpc_ping_to_guest(&iov, 1, 0, 65535);
    g_assert_cmpint(sum_of(data, 65535), ==, 0);
}

static void test_what_stays(void)
{
    uint8_t other[] = { 1, 4, 0xaa, 0xbb, 1, 2, 3, 4, 5 };
    uint8_t before[sizeof(other)];
    struct iovec iov = { other, sizeof(other) };

    memcpy(before, other, sizeof(other));
    vmrpc_ping_to_guest(&iov, 1, 0, sizeof(other));
    g_assert_cmpmem(other, sizeof(other), before, sizeof(before));

    vmrpc_ping_to_guest(NULL, 0, 0, 8);
}

/* Too little room for it in the guest: what is there is of the right kind. */
static void test_cut(void)
{
    uint8_t reply[] = { 129, 0, 0xaa, 0xbb, 1, 2, 3 };
    struct iovec iov = { reply, 1 };

    vmrpc_ping_to_guest(&iov, 1, 0, 0);
    g_assert_cmpint(reply[0], ==, 129);
    vmrpc_ping_to_guest(&iov, 1, 0, 1);
    g_assert_cmpint(reply[0], ==, 0);
    g_assert_cmpint(reply[2], ==, 0xaa);

    /* a length beyond the vectors reads and writes no further than they go */
    reply[0] = 129;
    iov.iov_len = 3;
    vmrpc_ping_to_guest(&iov, 1, 0, 64);
    g_assert_cmpint(reply[0], ==, 0);
    g_assert_cmpint(reply[3], ==, 0xbb);
    vmrpc_ping_to_guest(&iov, 1, 6, 8);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmrpc/ping/request", test_request);
    g_test_add_func("/vmrpc/ping/other-requests-are-refused",
                    test_other_requests_are_refused);
    g_test_add_func("/vmrpc/ping/reply", test_reply);
    g_test_add_func("/vmrpc/ping/all-ones", test_all_ones);
    g_test_add_func("/vmrpc/ping/what-stays", test_what_stays);
    g_test_add_func("/vmrpc/ping/cut", test_cut);
    return g_test_run();
}
