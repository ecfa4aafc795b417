/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The anti-replay window of ESP (RFC 4303 sections 2.2.1, 3.4.3, appendix A)
 *
 * Sequence numbers have 64 bits here. Without extended sequence numbers (ESN)
 * the last number is 2^32 - 1. The number 0 is never sent.
 */
#ifndef NET_ESP_REPLAY_H
#define NET_ESP_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define ESP_WINDOW_MIN          64u
#define ESP_WINDOW_MAX          1024u
#define ESP_REPLAY_WORDS        (ESP_WINDOW_MAX / 64)

/*
 * Rules: @bits is a ring with one word more than the window needs (RFC 6479),
 * so an update never shifts bits. Number n is bit n % 64 of word n / 64, modulo
 * the number of words in use. Only the words from the window's bottom to @top
 * are valid.
 */
typedef struct EspReplay {
    uint64_t top;               /* highest number accepted; 0: none yet */
    uint32_t size;              /* length of the window, or 0 */
    bool esn;
    uint64_t bits[ESP_REPLAY_WORDS + 1];
} EspReplay;

/* A saved window. Bit i of @bits, as a whole, is the number @top - i. */
typedef struct EspReplayState {
    uint64_t top;
    uint64_t seen[ESP_REPLAY_WORDS];
} EspReplayState;

/**
 * esp_replay_init: create an empty window
 * @size: ESP_WINDOW_MIN..ESP_WINDOW_MAX, a multiple of 64; or 0: every number
 *        is accepted at any time. 0 is for configured keys, because a peer that
 *        restarts begins at 1 again (section 3.3.3)
 * @esn: use extended sequence numbers; requires a window
 *
 * Returns: false if @size is invalid
 */
bool esp_replay_init(EspReplay *r, uint32_t size, bool esn);

/**
 * esp_replay_check: may a packet with this number be new?
 * @low: its sequence number on the wire
 * @sequence: set to all 64 bits; with ESN the upper half is inferred as in
 *            appendix A2.1, and only the ICV can prove it
 *
 * Nothing is changed, because the packet is not authenticated yet.
 *
 * Returns: false if the number was seen, is before the window, or is invalid
 */
bool esp_replay_check(const EspReplay *r, uint32_t low, uint64_t *sequence);

/**
 * esp_replay_accept: mark a number as seen, after authentication
 * @sequence: from a successful esp_replay_check(), without other calls in
 *            between
 */
void esp_replay_accept(EspReplay *r, uint64_t sequence);

/** esp_replay_save: save the window, independently of its size */
void esp_replay_save(const EspReplay *r, EspReplayState *state);

/**
 * esp_replay_load: mark the numbers in @state as seen
 *
 * The window never moves back: the new top is the higher one. The two windows
 * may have different sizes. Numbers below the window count as seen.
 *
 * Returns: false, with nothing changed, if @state is invalid here: without ESN
 * its numbers have 32 bits
 */
bool esp_replay_load(EspReplay *r, const EspReplayState *state);

#endif /* NET_ESP_REPLAY_H */
