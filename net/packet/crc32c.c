/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC32C, with the processor's instruction if it has one */
#include <string.h>

#include "net/packet/crc32c.h"

/* The reflected polynomial 0x82f63b78, four bits at a time. */
static uint32_t add_portable(uint32_t crc, const uint8_t *p, size_t len)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
        0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
        0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };

    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2")))
static uint32_t add_sse42(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t wide = crc;
    uint64_t word;

    for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = wide;
    for (; len; len--, p++) {
        crc = __builtin_ia32_crc32qi(crc, *p);
    }
    return crc;
}

static uint32_t add(uint32_t crc, const uint8_t *p, size_t len)
{
    return __builtin_cpu_supports("sse4.2") ? add_sse42(crc, p, len)
                                            : add_portable(crc, p, len);
}

#elif defined(__aarch64__)

#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

__attribute__((target("+crc")))
static uint32_t add_crc(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t word;

    for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        crc = __crc32cd(crc, word);
    }
    for (; len; len--, p++) {
        crc = __crc32cb(crc, *p);
    }
    return crc;
}

static uint32_t add(uint32_t crc, const uint8_t *p, size_t len)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32 ? add_crc(crc, p, len)
                                             : add_portable(crc, p, len);
}

#else

static uint32_t add(uint32_t crc, const uint8_t *p, size_t len)
{
    return add_portable(crc, p, len);
}

#endif

uint32_t packet_crc32c(uint32_t crc, const void *data, size_t len)
{
    return ~add(~crc, data, len);
}
