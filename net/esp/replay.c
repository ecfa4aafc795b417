/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The anti-replay window of ESP (RFC 4303 section 3.4.3, appendix A) */
#include <string.h>

#include "net/esp/replay.h"

static uint32_t words(const EspReplay *r)
{
    return r->size / 64 + 1;
}

static uint64_t *word_of(EspReplay *r, uint64_t sequence)
{
    return &r->bits[sequence / 64 % words(r)];
}

static uint64_t bit_of(uint64_t sequence)
{
    return 1ull << sequence % 64;
}

/* Is it before the window? That is: at least @size below the top. */
static bool is_before(const EspReplay *r, uint64_t sequence)
{
    return sequence < r->top && r->top - sequence >= r->size;
}

static bool is_seen(const EspReplay *r, uint64_t sequence)
{
    uint64_t word = r->bits[sequence / 64 % words(r)];

    return sequence == 0 || is_before(r, sequence) ||
           (sequence <= r->top && (word & bit_of(sequence)));
}

bool esp_replay_init(EspReplay *r, uint32_t size, bool esn)
{
    if (size == 0 ? esn : size < ESP_WINDOW_MIN || size > ESP_WINDOW_MAX ||
                          size % 64) {
        return false;
    }
    memset(r, 0, sizeof(*r));
    r->size = size;
    r->esn = esn;
    return true;
}

/*
 * Infers the upper half for @low: the nearest that is in the window or after
 * it. Appendix A2.1: the window is in one subspace of 2^32 numbers (case A) or
 * in two (case B). There is no subspace before the first.
 */
static uint64_t infer_high(const EspReplay *r, uint32_t low)
{
    uint32_t top_low = r->top, high = r->top >> 32;
    uint32_t bottom = top_low - r->size + 1;

    if (top_low >= r->size - 1) {
        return low >= bottom ? high : (uint64_t)high + 1;
    }
    return low >= bottom && high > 0 ? high - 1 : high;
}

bool esp_replay_check(const EspReplay *r, uint32_t low, uint64_t *sequence)
{
    uint64_t high = r->esn ? infer_high(r, low) : 0;

    if (high > UINT32_MAX) {
        return false;           /* 2^64 - 1 is the last number */
    }
    *sequence = high << 32 | low;
    return r->size == 0 || !is_seen(r, *sequence);
}

/* Clears the words that enter the window; at most all words of the ring. */
static void advance(EspReplay *r, uint64_t top)
{
    uint64_t fresh = top / 64 - r->top / 64;

    for (uint64_t i = 0; i < fresh && i < words(r); i++) {
        *word_of(r, top - i * 64) = 0;
    }
    r->top = top;
}

void esp_replay_accept(EspReplay *r, uint64_t sequence)
{
    if (sequence > r->top) {
        advance(r, sequence);
    }
    *word_of(r, sequence) |= bit_of(sequence);
}

void esp_replay_save(const EspReplay *r, EspReplayState *state)
{
    memset(state, 0, sizeof(*state));
    state->top = r->top;
    for (uint32_t i = 0; i < ESP_WINDOW_MAX && i < r->top; i++) {
        if (is_seen(r, r->top - i)) {
            state->seen[i / 64] |= 1ull << i % 64;
        }
    }
}

/* @sequence is at most ESP_WINDOW_MAX - 1 below the top of @state. */
static bool has_seen(const EspReplayState *state, uint64_t sequence)
{
    uint64_t i = state->top - sequence;

    return sequence <= state->top && (state->seen[i / 64] & 1ull << i % 64);
}

bool esp_replay_load(EspReplay *r, const EspReplayState *state)
{

    if (!r->esn && state->top > UINT32_MAX) {
        return false;
    }
    if (state->top > r->top) {
        advance(r, state->top);
    }
    for (uint32_t i = 0; i < r->size && i < r->top; i++) {
        if (has_seen(state, r->top - i)) {
            *word_of(r, r->top - i) |= bit_of(r->top - i);
        }
    }
    return true;
}
