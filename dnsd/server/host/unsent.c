/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies over UDP that the kernel does not take */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "dnsd/server/host/unsent.h"

#define PAUSE_S     60

static atomic_uint_least64_t count;
static atomic_int last;
/* of the thread that tells */
static uint64_t logged, next_s;

void dnsd_unsent(int error)
{
    atomic_store(&last, error);
    atomic_fetch_add(&count, 1);
}

uint64_t dnsd_unsent_count(void)
{
    return atomic_load(&count);
}

void dnsd_unsent_tell(uint64_t now_s)
{
    uint64_t now = atomic_load(&count), fresh = now - logged;

    if (!fresh || now_s < next_s) {
        return;
    }
    logged = now;
    next_s = now_s + PAUSE_S;
    base_log(LOG_WARNING, "%" PRIu64 " repl%s over UDP could not be sent; "
             "the last one: %s", fresh, fresh == 1 ? "y" : "ies",
             strerror(atomic_load(&last)));
}
