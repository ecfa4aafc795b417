/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of several flows, right or not, that are put together
 *
 * Input: steps of eight octets. They choose a flow and what is new in its next
 * packet, or end a batch; some change an octet of the frame, or cut it.
 *
 * Of each flow what is cut again is what was sent, in its order, with all
 * checksums; the receiver of packet-frames.c compares.
 */
#include <string.h>

#include "base/octets.h"
#include "net/packet/tcp.h"
#include "tests/fixtures/packet-frames.h"

#define STEP_LEN        8u
#define STEPS_MAX       400u
#define FLOWS           8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    ACTION_PARTIAL = 1 << 0,
    ACTION_DAMAGE = 1 << 1,
    ACTION_CUT = 1 << 2,
    ACTION_FLUSH = 1 << 3,
    ACTION_HEADERS = 1 << 4,    /* the next octets are of headers */
};

static void change_headers(FrameSpec *spec, const uint8_t *step)
{
    spec->flags = step[3];
    spec->window += step[4] & 1;
    spec->tos = step[4] >> 1;
    spec->stamp += step[5] & 3;
    spec->sequence += (int8_t)step[6];
    spec->tagged = step[7] & 1;
    spec->dont_fragment = step[7] & 2;
    spec->id += step[7] >> 2;
}

static void send(Stream *s, FrameSpec *spec, const uint8_t *step)
{
    uint8_t frame[FRAME_MAX], full[FRAME_MAX];
    size_t len = frame_make(full, spec);
    PacketOffload offload = { 0 };

    if (step[1] & ACTION_DAMAGE) {
        full[get_be16(step + 2) % len] ^= step[5];
    } else if (step[1] & ACTION_CUT) {
        len -= step[3] % len;
    }
    memcpy(frame, full, len);
    if (step[1] & ACTION_PARTIAL && !(step[1] & (ACTION_DAMAGE | ACTION_CUT))) {
        offload = frame_partial(frame, spec);
    }
    stream_send(s, step[2] & 0x80 ? 31 : step[2] & 31, frame, len, &offload,
                full);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t payload[FRAME_MAX];
    Stream *s = stream_new();
    FrameSpec flow[FLOWS] = { 0 };

    for (unsigned i = 0; i < sizeof(payload); i++) {
        payload[i] = i * 7;
    }
    for (unsigned i = 0; i < FLOWS; i++) {
        flow[i].is_ip4 = i & 1;
        flow[i].is_udp = i & 2;
        flow[i].flow = i;
        flow[i].flags = PACKET_TCP_ACK;
    }
    for (unsigned i = 0; i < STEPS_MAX && size >= STEP_LEN; i++) {
        FrameSpec *spec = &flow[data[0] % FLOWS];

        if (data[1] & ACTION_HEADERS) {
            change_headers(spec, data);
        }
        spec->payload = payload + i;
        spec->len = (data[0] >> 3) * 40u;
        send(s, spec, data);
        spec->sequence += spec->len;
        spec->id++;
        if (data[1] & ACTION_FLUSH) {
            packet_coalesce_flush(&s->coalesce);
        }
        data += STEP_LEN;
        size -= STEP_LEN;
    }
    stream_free(s);
    return 0;
}
