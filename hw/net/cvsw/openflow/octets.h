/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends to a message under construction */
#ifndef CVSW_OPENFLOW_OCTETS_H
#define CVSW_OPENFLOW_OCTETS_H

#include <glib.h>

#include "base/octets.h"

static inline void cvsw_of_put(GByteArray *out, const void *octets, size_t len)
{
    g_byte_array_append(out, octets, len);
}

static inline void cvsw_of_put8(GByteArray *out, uint8_t value)
{
    cvsw_of_put(out, &value, 1);
}

static inline void cvsw_of_put16(GByteArray *out, uint16_t value)
{
    uint8_t buf[2];

    put_be16(buf, value);
    cvsw_of_put(out, buf, sizeof(buf));
}

static inline void cvsw_of_put32(GByteArray *out, uint32_t value)
{
    uint8_t buf[4];

    put_be32(buf, value);
    cvsw_of_put(out, buf, sizeof(buf));
}

static inline void cvsw_of_put64(GByteArray *out, uint64_t value)
{
    uint8_t buf[8];

    put_be64(buf, value);
    cvsw_of_put(out, buf, sizeof(buf));
}

/** cvsw_of_pad: append zeros up to a multiple of 8 octets after @from */
static inline void cvsw_of_pad(GByteArray *out, size_t from)
{
    while ((out->len - from) % 8) {
        cvsw_of_put8(out, 0);
    }
}

/** cvsw_of_put_at: overwrite a 16-bit number at offset @at */
static inline void cvsw_of_put_at(GByteArray *out, size_t at, uint16_t value)
{
    put_be16(out->data + at, value);
}

#endif /* CVSW_OPENFLOW_OCTETS_H */
