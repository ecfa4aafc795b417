/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The anti-replay window of ESP (RFC 4303 sections 2.2.1, 3.4.3, appendix A)
 *
 * Sequence numbers are 64 bits wide here. Without extended sequence numbers
 * (ESN) they end at 2^32 - 1. The number 0 is never sent.
 */
#ifndef NET_ESP_REPLAY_H
#define NET_ESP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define ESP_WINDOW_MIN          64u
#define ESP_WINDOW_MAX          1024u
#define ESP_REPLAY_WORDS        (ESP_WINDOW_MAX / 64)

/*
 * Rules: @bits is a ring of words, one more than the window needs (RFC 6479),
 * so that moving it never shifts. Number n is bit n % 64 of word n / 64 modulo
 * the words in use. Only words from the one of the window's bottom to the one
 * of @top mean something.
 */
typedef struct EspReplay {
    uint64_t top;               /* the highest number accepted; 0: none yet */
    uint32_t size;              /* numbers in the window, @top included; or 0 */
    bool esn;
    uint64_t bits[ESP_REPLAY_WORDS + 1];
} EspReplay;

/* A window that travels. Bit i of the whole is the number @top - i. */
typedef struct EspReplayState {
    uint64_t top;
    uint64_t seen[ESP_REPLAY_WORDS];
} EspReplayState;

/**
 * esp_replay_init: an empty window
 * @size: ESP_WINDOW_MIN..ESP_WINDOW_MAX, a multiple of 64; or 0: every number
 *        is taken, any time. For keys that are configured by hand: a peer that
 *        restarts begins at 1 again (section 3.3.3)
 * @esn: extended sequence numbers; they need a window
 *
 * Returns: false if @size is not allowed
 */
bool esp_replay_init(EspReplay *r, uint32_t size, bool esn);

/**
 * esp_replay_check: may a packet with this number be new?
 * @low: its sequence number as it stands on the wire
 * @sequence: set to all 64 bits of it; with ESN the upper half is the one that
 *            appendix A2.1 infers, and only the ICV proves it
 *
 * Nothing changes, since the packet is not authenticated yet.
 *
 * Returns: false if it was seen, lies before the window, or is no number at all
 */
bool esp_replay_check(const EspReplay *r, uint32_t low, uint64_t *sequence);

/**
 * esp_replay_accept: an authenticated packet has this number
 * @sequence: from esp_replay_check(), which was true, with no call in between
 */
void esp_replay_accept(EspReplay *r, uint64_t sequence);

/** esp_replay_save: the window in a form that does not depend on its size */
void esp_replay_save(const EspReplay *r, EspReplayState *state);

/**
 * esp_replay_load: what @state has seen is seen here, too
 *
 * The window never moves back: its top is the higher one of both. The two
 * windows may have different sizes. Numbers that fall out count as seen.
 *
 * Returns: false, and changes nothing, if @state does not fit: without ESN its
 * numbers have 32 bits
 */
bool esp_replay_load(EspReplay *r, const EspReplayState *state);

#endif /* NET_ESP_REPLAY_H */
