/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Races and orders of candidates, against the rules that they must keep
 *
 * The first byte says which of the two.  A race: how many candidates, then
 * two bytes an event: what, and for how long or with which result.  An
 * order: the source, then candidates of five bytes.
 */
#include <errno.h>
#include <string.h>

#include "hw/vmrpc/peer/eyeballs.h"

#define MAX_EVENTS 500
#define MAX_ORDER 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- the race ------------------------------------------------------------ */

/* The events, as recorded by an observer. */
typedef struct Seen {
    unsigned num, started;
    bool ended[VMRPC_EYEBALLS_MAX];     /* there was a result */
    int first_error;
    int winner;
    bool failed;
    int64_t last_start_ms;
} Seen;

static bool any_pending(const Seen *seen)
{
    for (unsigned i = 0; i < seen->started; i++) {
        if (!seen->ended[i]) {
            return true;
        }
    }
    return false;
}

/* May the next candidate be started? */
static bool may_start(const Seen *seen, int64_t now_ms)
{
    return seen->started < seen->num &&
           (seen->started == 0 || seen->ended[seen->started - 1] ||
            now_ms - seen->last_start_ms >= VMRPC_EYEBALLS_DELAY_MS);
}

static bool may_fail(const Seen *seen, int64_t now_ms)
{
    return seen->started == seen->num && seen->first_error &&
           (!any_pending(seen) ||
            now_ms - seen->last_start_ms >= VMRPC_EYEBALLS_GRACE_MS);
}

static void check_wait(const Seen *seen, int64_t until_ms, int64_t now_ms)
{
    int64_t expected = INT64_MAX;

    if (seen->started < seen->num) {
        expected = seen->last_start_ms + VMRPC_EYEBALLS_DELAY_MS;
    } else if (seen->first_error) {
        expected = seen->last_start_ms + VMRPC_EYEBALLS_GRACE_MS;
    }
    g_assert(until_ms == expected && until_ms > now_ms);
    g_assert(any_pending(seen));
}

static void ask(VmrpcEyeballs *race, Seen *seen, int64_t now_ms)
{
    VmrpcEyeballsAction action = vmrpc_eyeballs_next(race, now_ms);

    if (seen->winner >= 0) {
        g_assert(action.step == VMRPC_EYEBALLS_WON);
        g_assert(action.index == (unsigned)seen->winner);
    } else if (seen->failed || may_fail(seen, now_ms)) {
        g_assert(action.step == VMRPC_EYEBALLS_FAILED);
        g_assert(action.error == seen->first_error);
        seen->failed = true;
    } else if (may_start(seen, now_ms)) {
        g_assert(action.step == VMRPC_EYEBALLS_START);
        g_assert(action.index == seen->started);
        g_assert(action.candidate->port == seen->started);
        seen->started++;
        seen->last_start_ms = now_ms;
    } else {
        g_assert(action.step == VMRPC_EYEBALLS_WAIT);
        check_wait(seen, action.until_ms, now_ms);
    }
}

static void tell(VmrpcEyeballs *race, Seen *seen, unsigned index, int ret,
                 int64_t now_ms)
{
    if (index >= seen->started) {
        return;
    }
    vmrpc_eyeballs_result(race, index, ret, now_ms);
    if (seen->winner >= 0 || seen->failed || seen->ended[index]) {
        return;
    }
    seen->ended[index] = true;
    if (ret == 0) {
        seen->winner = index;
    } else if (index == 0) {
        seen->first_error = ret;
    }
}

static void fuzz_race(const uint8_t *data, size_t size)
{
    VmrpcCandidate candidates[VMRPC_EYEBALLS_MAX] = { 0 };
    Seen seen = { .num = 1 + data[0] % VMRPC_EYEBALLS_MAX, .winner = -1 };
    VmrpcEyeballs race;
    int64_t now_ms = 0;

    for (unsigned i = 0; i < seen.num; i++) {
        candidates[i].port = i;
    }
    vmrpc_eyeballs_start(&race, candidates, seen.num, now_ms);
    for (size_t i = 1; i + 2 <= size && i < 2 * MAX_EVENTS; i += 2) {
        unsigned index = data[i] >> 2 & 7;

        switch (data[i] & 3) {
        case 0:
            ask(&race, &seen, now_ms);
            break;
        case 1:
            now_ms += data[i] & 0x80 ? data[i + 1] * 50 : data[i + 1];
            break;
        case 2:
            tell(&race, &seen, index, -1 - data[i + 1], now_ms);
            break;
        default:
            tell(&race, &seen, index, data[i + 1] ? -ECONNREFUSED : 0,
                 now_ms);
            break;
        }
    }
}

/* --- the order ----------------------------------------------------------- */

/* Two bytes of prefix, among them those of the policy table */
static struct in6_addr addr_of(const uint8_t *bytes)
{
    static const uint8_t prefixes[][4] = {
        { 0x20, 0x01 }, { 0x20, 0x02 }, { 0x3f, 0xfe }, { 0xfe, 0xc0 },
        { 0xfc }, { 0xfd, 0x12 }, { 0x00, 0x64, 0xff, 0x9b }, { 0x2a },
    };
    struct in6_addr addr6 = { 0 };

    memcpy(&addr6, prefixes[bytes[0] % G_N_ELEMENTS(prefixes)], 4);
    addr6.s6_addr[2] ^= bytes[1];
    addr6.s6_addr[15] = bytes[2];
    return addr6;
}

static bool same_candidate(const VmrpcCandidate *a, const VmrpcCandidate *b)
{
    return IN6_ARE_ADDR_EQUAL(&a->addr6, &b->addr6) && a->port == b->port;
}

/* Returns: the first position of @c in @list; @num: not in it. */
static size_t position(const VmrpcCandidate *list, size_t num,
                       const VmrpcCandidate *c)
{
    size_t i = 0;

    while (i < num && !same_candidate(&list[i], c)) {
        i++;
    }
    return i;
}

static size_t count_distinct(const VmrpcCandidate *list, size_t num)
{
    size_t count = 0;

    for (size_t i = 0; i < num; i++) {
        count += position(list, num, &list[i]) == i;
    }
    return count;
}

/* The first of its kind that was given, whose flags count. */
static const VmrpcCandidate *given(const VmrpcCandidate *before, size_t num,
                                   const VmrpcCandidate *c)
{
    size_t at = position(before, num, c);

    g_assert(at < num);
    g_assert(before[at].synthesized == c->synthesized);
    return &before[at];
}

static void check_order(const VmrpcCandidate *before, size_t num,
                        const VmrpcCandidate *after, size_t kept)
{
    bool any_synthesized = false, kept_synthesized = false;

    g_assert(kept == MIN(count_distinct(before, num), VMRPC_EYEBALLS_MAX));
    g_assert(count_distinct(after, kept) == kept);
    g_assert(same_candidate(&after[0], &before[0]));
    for (size_t i = 0; i < kept; i++) {
        const VmrpcCandidate *from = given(before, num, &after[i]);

        kept_synthesized |= from->synthesized;
        /* native first, and within one prefix as it came */
        for (size_t k = i + 1; i > 0 && k < kept; k++) {
            g_assert(!after[i].synthesized || after[k].synthesized);
            g_assert(after[i].synthesized != after[k].synthesized ||
                     memcmp(&after[i].addr6, &after[k].addr6, 4) ||
                     from < given(before, num, &after[k]));
        }
    }
    for (size_t i = 0; i < num; i++) {
        any_synthesized |= position(before, num, &before[i]) == i &&
                           before[i].synthesized;
    }
    g_assert(any_synthesized == kept_synthesized);
}

static void fuzz_order(const uint8_t *data, size_t size)
{
    VmrpcCandidate before[MAX_ORDER], after[MAX_ORDER];
    struct in6_addr source;
    size_t num = 0, kept;

    if (size < 4 + 5) {
        return;
    }
    source = addr_of(data + 1);
    for (size_t i = 4; i + 5 <= size && num < MAX_ORDER; i += 5) {
        memset(&before[num], 0, sizeof(before[num]));
        before[num].addr6 = addr_of(data + i);
        before[num].port = data[i + 3];
        before[num].synthesized = data[i + 4] & 1;
        num++;
    }
    memcpy(after, before, sizeof(*before) * num);
    kept = vmrpc_eyeballs_order(after, num, data[0] & 1 ? &source : NULL);
    check_order(before, num, after, kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    if (data[0] & 1) {
        fuzz_order(data + 1, size - 1);
    } else {
        fuzz_race(data + 1, size - 1);
    }
    return 0;
}
