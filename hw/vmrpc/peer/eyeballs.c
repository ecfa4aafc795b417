/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Happy Eyeballs (RFC 8305): one connect() of the guest, several addresses
 *
 * Theory of operation
 *
 * The guest connects to one address that DNS gave it.  If that one does not
 * answer, others of the same name may.  So after the Connection Attempt Delay
 * the next candidate is tried beside it, or at once when the last one that
 * was started has failed; the first that connects is the guest's connection.
 *
 * The order is that of RFC 6724 section 6, as far as there is a choice when
 * all is IPv6 and the VM has one address:
 *
 *   the one that the guest  first, whatever it is: where it works, nothing
 *   named                   differs from a plain connect()
 *   rule 7, native first    NAT64 is last: a translator on the way, and its
 *                           state.  Before rules 5 and 6, that know nothing
 *                           of prefixes for NAT64.
 *   rule 5, matching label  if the VM's address is known
 *   rule 6, precedence
 *   rule 10, as it came     from the DNS server, which may balance load
 *
 * Rules 1 to 4 and 8 are about sources that can be chosen and destinations
 * that the policy has refused before.  Rule 9, the longest common prefix, would
 * undo the server's balancing, and the prefix says nothing about the way.
 * Candidates are not interleaved by family (RFC 8305 section 4), but when there
 * are too many, the best way through the NAT64 keeps the last place: another
 * way is worth more than one more address on the same.
 *
 * If all fail, the guest gets the error of the address that it named.  Natively
 * it would get the same, and the error fits the program's message ("connect to
 * 198.18.0.7: Connection refused"); it has never seen the others.  Until that
 * error is known, failures of others do not end the race, so a blackhole takes
 * as long as natively.  Once it is known, attempts without an answer get
 * VMRPC_EYEBALLS_GRACE_MS: a program that is refused expects to go on soon.
 *
 * If there cannot be a socket for each attempt (as the guest has chosen the
 * port), they take turns instead.  A slow attempt is given up for the next, so
 * turns are long.  The first one might have answered in the end; so the address
 * that the guest named is tried once more when all others have failed.
 *
 * A late call does no harm: delays count from the real start of an attempt, so
 * a thread that was held up does not start all candidates at once.
 */
#include <string.h>

#include "hw/vmrpc/peer/eyeballs.h"

G_STATIC_ASSERT(VMRPC_EYEBALLS_MAX <= 8);   /* bits of pending */

/*
 * The policy table, RFC 6724 section 2.1, the longest prefix first.  Loopback,
 * IPv4-mapped and -compatible are left out: they are no destinations.
 */
static const struct {
    uint8_t prefix[4];
    uint8_t len;                /* bits */
    uint8_t precedence;
    uint8_t label;
} policy_table[] = {
    { { 0x20, 0x01, 0x00, 0x00 }, 32, 5, 5 },       /* Teredo */
    { { 0x20, 0x02 }, 16, 30, 2 },                  /* 6to4 */
    { { 0x3f, 0xfe }, 16, 1, 12 },                  /* 6bone */
    { { 0xfe, 0xc0 }, 10, 1, 11 },                  /* site-local */
    { { 0xfc }, 7, 3, 13 },                         /* unique local */
    { { 0 }, 0, 40, 1 },
};

static bool in_prefix(const struct in6_addr *addr6, const uint8_t *prefix,
                      unsigned len)
{
    uint8_t mask = 0xff << (8 - len % 8);

    return !memcmp(addr6, prefix, len / 8) &&
           (len % 8 == 0 ||
            ((addr6->s6_addr[len / 8] ^ prefix[len / 8]) & mask) == 0);
}

/* The row of the policy table that @addr6 falls into. */
static size_t row_of(const struct in6_addr *addr6)
{
    size_t i = 0;

    while (!in_prefix(addr6, policy_table[i].prefix, policy_table[i].len)) {
        i++;
    }
    return i;
}

/* The candidate with the lowest rank comes first. */
static unsigned rank_of(const VmrpcCandidate *candidate,
                        const struct in6_addr *source)
{
    size_t row = row_of(&candidate->addr6);
    bool mismatch = source &&
                    policy_table[row].label !=
                    policy_table[row_of(source)].label;

    return candidate->synthesized << 9 | mismatch << 8 |
           (UINT8_MAX - policy_table[row].precedence);
}

static bool same_destination(const VmrpcCandidate *a, const VmrpcCandidate *b)
{
    return IN6_ARE_ADDR_EQUAL(&a->addr6, &b->addr6) && a->port == b->port;
}

static size_t leave_out_doubles(VmrpcCandidate *candidates, size_t num)
{
    size_t kept = 0, i, j;

    for (i = 0; i < num; i++) {
        for (j = 0; j < kept; j++) {
            if (same_destination(&candidates[j], &candidates[i])) {
                break;
            }
        }
        if (j == kept) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

/* By insertion, which keeps the order of equals; [0] stays. */
static void sort(VmrpcCandidate *candidates, size_t num,
                 const struct in6_addr *source)
{
    size_t i, j;

    for (i = 2; i < num; i++) {
        VmrpcCandidate moving = candidates[i];
        unsigned rank = rank_of(&moving, source);

        for (j = i; j > 1 && rank_of(&candidates[j - 1], source) > rank;
             j--) {
            candidates[j] = candidates[j - 1];
        }
        candidates[j] = moving;
    }
}

static size_t cut(VmrpcCandidate *candidates, size_t num)
{
    size_t first = 0;

    if (num <= VMRPC_EYEBALLS_MAX) {
        return num;
    }
    while (first < num && !candidates[first].synthesized) {
        first++;
    }
    if (first >= VMRPC_EYEBALLS_MAX && first < num) {
        candidates[VMRPC_EYEBALLS_MAX - 1] = candidates[first];
    }
    return VMRPC_EYEBALLS_MAX;
}

size_t vmrpc_eyeballs_order(VmrpcCandidate *candidates, size_t num,
                            const struct in6_addr *source)
{
    num = leave_out_doubles(candidates, num);
    sort(candidates, num, source);
    return cut(candidates, num);
}

void vmrpc_eyeballs_start(VmrpcEyeballs *race,
                          const VmrpcCandidate *candidates, size_t num,
                          int64_t now_ms)
{
    g_assert(num >= 1 && num <= VMRPC_EYEBALLS_MAX);
    memcpy(race->candidates, candidates, num * sizeof(*candidates));
    race->due_ms = now_ms;
    race->first_error = 0;
    race->winner = -1;
    race->num = num;
    race->started = 0;
    race->pending = 0;
    race->in_turn = false;
}

void vmrpc_eyeballs_take_turns(VmrpcEyeballs *race)
{
    race->in_turn = true;
}

static VmrpcEyeballsAction about(const VmrpcEyeballs *race,
                                 VmrpcEyeballsStep step, unsigned index)
{
    return (VmrpcEyeballsAction) {
        .step = step,
        .index = index,
        .candidate = &race->candidates[index],
    };
}

static VmrpcEyeballsAction start_next(VmrpcEyeballs *race, int64_t now_ms)
{
    unsigned index = race->started++;

    if (race->in_turn) {
        race->pending = 0;
    }
    race->pending |= 1u << index;
    if (race->started == race->num) {
        race->due_ms = now_ms + VMRPC_EYEBALLS_GRACE_MS;
    } else {
        race->due_ms = now_ms + (race->in_turn ? VMRPC_EYEBALLS_TURN_MS
                                               : VMRPC_EYEBALLS_DELAY_MS);
    }
    return about(race, VMRPC_EYEBALLS_START, index);
}

static VmrpcEyeballsAction wait_until(int64_t until_ms)
{
    return (VmrpcEyeballsAction) {
        .step = VMRPC_EYEBALLS_WAIT,
        .until_ms = until_ms,
    };
}

/* All have been started, and the result of the first is not known. */
static VmrpcEyeballsAction wait_for_first(VmrpcEyeballs *race, bool due)
{
    if (!race->in_turn || race->pending & 1) {
        return wait_until(INT64_MAX);
    }
    if (race->pending && !due) {
        return wait_until(race->due_ms);
    }
    race->pending = 1;
    return about(race, VMRPC_EYEBALLS_START, 0);
}

VmrpcEyeballsAction vmrpc_eyeballs_next(VmrpcEyeballs *race, int64_t now_ms)
{
    bool due = now_ms >= race->due_ms;

    if (race->winner >= 0) {
        return about(race, VMRPC_EYEBALLS_WON, race->winner);
    }
    if (race->started < race->num) {
        return due ? start_next(race, now_ms) : wait_until(race->due_ms);
    }
    if (!race->first_error) {
        return wait_for_first(race, due);
    }
    if (race->pending && !due) {
        return wait_until(race->due_ms);
    }
    /* A later result does not change the outcome. */
    race->pending = 0;
    return (VmrpcEyeballsAction) {
        .step = VMRPC_EYEBALLS_FAILED,
        .error = race->first_error,
    };
}

void vmrpc_eyeballs_result(VmrpcEyeballs *race, unsigned index, int ret,
                           int64_t now_ms)
{
    g_assert(index < race->started && ret <= 0);
    if (race->winner >= 0 || !(race->pending & 1u << index)) {
        return;
    }
    race->pending &= ~(1u << index);
    if (ret == 0) {
        race->winner = index;
        return;
    }
    if (index == 0) {
        race->first_error = ret;
    }
    if (index + 1 == race->started && race->started < race->num) {
        race->due_ms = now_ms;
    }
}
