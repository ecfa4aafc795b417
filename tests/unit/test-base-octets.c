/* SPDX-License-Identifier: GPL-2.0-or-later */
/* base/octets.h: both orders, at every alignment, and no octet beside them */
#include <glib.h>
#include <string.h>

#include "base/octets.h"

#define BEFORE 0xa5

typedef struct Frame {
    uint8_t octets[24];
} Frame;

/* Checks that @f has @len octets at @at and is untouched elsewhere. */
static void check(const Frame *f, size_t at, const void *octets, size_t len)
{
    for (size_t i = 0; i < sizeof(f->octets); i++) {
        if (i < at || i >= at + len) {
            g_assert_cmphex(f->octets[i], ==, BEFORE);
        }
    }
    g_assert_cmpmem(f->octets + at, len, octets, len);
}

#define CHECK(order, bits, value, ...)                                      \
    do {                                                                    \
        const uint8_t right[] = { __VA_ARGS__ };                            \
                                                                            \
        for (size_t at = 1; at <= 8; at++) {                                \
            Frame f;                                                        \
                                                                            \
            memset(&f, BEFORE, sizeof(f));                                  \
            put_##order##bits(f.octets + at, value);                        \
            check(&f, at, right, bits / 8);                                 \
            g_assert_cmphex(get_##order##bits(f.octets + at), ==, value);   \
        }                                                                   \
    } while (0)

static void test_big(void)
{
    CHECK(be, 16, 0xf1e2, 0xf1, 0xe2);
    CHECK(be, 32, 0xf1e2d3c4, 0xf1, 0xe2, 0xd3, 0xc4);
    CHECK(be, 64, UINT64_C(0xf1e2d3c4b5a69788),
          0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6, 0x97, 0x88);
}

static void test_little(void)
{
    CHECK(le, 16, 0xf1e2, 0xe2, 0xf1);
    CHECK(le, 32, 0xf1e2d3c4, 0xc4, 0xd3, 0xe2, 0xf1);
    CHECK(le, 64, UINT64_C(0xf1e2d3c4b5a69788),
          0x88, 0x97, 0xa6, 0xb5, 0xc4, 0xd3, 0xe2, 0xf1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/octets/big", test_big);
    g_test_add_func("/base/octets/little", test_little);
    return g_test_run();
}
