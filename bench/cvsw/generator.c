/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A traffic generator in place of a guest: drives a virtio-net without a driver
 *
 *   generator QTEST RAM TO FROM NUMBER
 *
 * QEMU runs with accel=qtest, that is, without a CPU.  Its memory is the file
 * RAM, which is mapped here, so that queues are filled and emptied without
 * QEMU.  The I/O of a driver (virtio's legacy interface) goes through the
 * socket QTEST.  One kick covers all frames of the queue.  Frames are UDP over
 * IPv4, between the MAC addresses TO and FROM and the addresses
 * 198.51.100.NUMBER and, of the other end, NUMBER + 1.
 *
 * Commands are lines on stdin.  Each is answered by a line of JSON at its end:
 *
 *   send OCTETS SECONDS WINDOW FILE   frames of so many octets; at most WINDOW
 *                                     of them are not counted in FILE yet, so
 *                                     that none is lost for want of room; 0: as
 *                                     many as QEMU takes
 *   attack RATE SECONDS               so many a second, each of which differs
 *                                     from what is allowed in other bits
 *   receive FILE                      count in FILE what comes, until the next
 *                                     line, which may be empty
 */
#include "base/octets.h"
#include "queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
    ETH = 14, IP = 20, UDP = 8, HEADERS = ETH + IP + UDP, FRAME_MAX = 1514,
    ATTACK_LEN = 64,
    PORT = 7777,
    /* The frames that the attacker's rules allow; see victim.py. */
    ALLOWED_PORT = 4660,
};
#define ALLOWED         0x0a000001u
#define NAP_NS          20000
#define ATTACK_NAP_NS   500000
#define STALLED_S       0.05

static Queue rx, tx;

/* --- frames --------------------------------------------------------------- */

static uint8_t headers[HEADERS];

static void checksum(uint8_t *ip)
{
    uint32_t sum = 0;

    put_be16(ip + 10, 0);
    for (unsigned i = 0; i < IP; i += 2) {
        sum += ip[i] << 8 | ip[i + 1];
    }
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(ip + 10, ~(sum + (sum >> 16)));
}

static void headers_make(const char *to, const char *from, unsigned number)
{
    static const uint8_t net[] = { 198, 51, 100 };
    const char *macs[] = { to, from };
    uint8_t *ip = headers + ETH;

    for (unsigned i = 0; i < 2; i++) {
        uint8_t *m = headers + 6 * i;

        if (sscanf(macs[i], "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", m, m + 1, m + 2,
                   m + 3, m + 4, m + 5) != 6) {
            errno = EINVAL;
            die(macs[i]);
        }
    }
    put_be16(headers + 12, 0x0800);
    ip[0] = 0x45;
    ip[8] = 64;
    ip[9] = IPPROTO_UDP;
    memcpy(ip + 12, net, sizeof(net));
    memcpy(ip + 16, net, sizeof(net));
    ip[15] = number;
    ip[19] = number + 1;
    put_be16(ip + IP, PORT + number);
    put_be16(ip + IP + 2, PORT);
}

static void frame_make(uint8_t *buffer, size_t len)
{
    uint8_t *ip = buffer + QUEUE_VNET_LEN + ETH;

    memset(buffer, 0, QUEUE_VNET_LEN + len);
    memcpy(buffer + QUEUE_VNET_LEN, headers, HEADERS);
    put_be16(ip + 2, len - ETH);
    put_be16(ip + IP + 4, len - ETH - IP);
    checksum(ip);
}

static bool is_ours(const uint8_t *frame)
{
    return frame[12] == 8 && frame[13] == 0 && frame[ETH + 9] == IPPROTO_UDP &&
           (frame[ETH + IP + 2] << 8 | frame[ETH + IP + 3]) == PORT;
}

/* --- commands ------------------------------------------------------------- */

typedef struct Counted {
    volatile uint64_t frames;   /* volatile: two processes use it */
} Counted;

static Counted *count_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    void *map;

    if (fd < 0 || ftruncate(fd, sizeof(Counted))) {
        die(path);
    }
    map = mmap(NULL, sizeof(Counted), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
               0);
    close(fd);
    if (map == MAP_FAILED) {
        die(path);
    }
    return map;
}

static void answer(uint64_t frames, uint64_t octets, uint64_t lost,
                   double seconds)
{
    printf("{\"frames\": %lu, \"octets\": %lu, \"lost\": %lu, "
           "\"seconds\": %.6f}\n", frames, octets, lost, seconds);
    fflush(stdout);
}

/* Frames in flight: those that the receiver has not counted yet. */
typedef struct Flight {
    Counted *counted;
    uint64_t base, came, lost;
    unsigned window;
    double moved;               /* time of the last arrival */
} Flight;

/* Returns: how many of @room frames may be sent after @sent frames. */
static unsigned flight_room(Flight *f, uint64_t sent, unsigned room, double t)
{
    uint64_t came = f->counted->frames - f->base;
    int64_t out = sent - came - f->lost;

    if (came != f->came) {
        f->came = came;
        f->moved = t;
    } else if (out > 0 && t > f->moved + STALLED_S) {
        f->lost = sent - came;
        f->moved = t;
        out = 0;
    }
    /* Frames that were taken for lost may still come. */
    out = out < 0 ? 0 : out > f->window ? f->window : out;
    room = f->window - out < room ? f->window - out : room;
    /* Batches, as with a guest that is woken once for several frames. */
    return room < (f->window + 3) / 4 ? 0 : room;
}

static void send_frames(size_t len, double seconds, unsigned window,
                        const char *path)
{
    double begin = now(), t;
    Flight f = { .window = window, .moved = begin };
    uint64_t sent = 0;

    if (window) {
        f.counted = count_open(path);
        f.base = f.counted->frames;
    }
    for (unsigned i = 0; i < tx.len; i++) {
        frame_make(queue_buffer(&tx, i), len);
        tx.desc[i].len = QUEUE_VNET_LEN + len;
    }
    while ((t = now()) < begin + seconds) {
        unsigned room = queue_room(&tx);

        if (window) {
            room = flight_room(&f, sent, room, t);
        }
        if (room) {
            queue_add(&tx, room);
            sent += room;
        } else if (window) {
            nap(NAP_NS);
        } else {
            queue_turn();
        }
    }
    answer(sent, sent * len, f.lost, now() - begin);
    if (window) {
        munmap(f.counted, sizeof(*f.counted));
    }
}

/*
 * The frames of "Tuple Space Explosion" (CoNEXT 2019): in the address and in
 * each port one bit differs from the allowed value, so that a cache of flows
 * needs a mask for each combination of bits.
 */
static void frame_differ(uint8_t *buffer, unsigned number)
{
    uint8_t *ip = buffer + QUEUE_VNET_LEN + ETH;
    uint32_t address = htonl(ALLOWED ^ 1u << number % 32);

    frame_make(buffer, ATTACK_LEN);
    memcpy(ip + 12, &address, sizeof(address));
    put_be16(ip + IP, ALLOWED_PORT ^ 1u << number / 32 % 16);
    put_be16(ip + IP + 2, ALLOWED_PORT ^ 1u << number / 512 % 16);
    checksum(ip);
}

static void attack(double rate, double seconds)
{
    double begin = now(), t;
    unsigned sent = 0;

    for (unsigned i = 0; i < tx.len; i++) {
        tx.desc[i].len = QUEUE_VNET_LEN + ATTACK_LEN;
    }
    while ((t = now()) < begin + seconds) {
        unsigned due = rate * (t - begin) - sent, room = queue_room(&tx);

        due = due < room ? due : room;
        for (unsigned i = 0; i < due; i++, sent++) {
            unsigned slot = (uint16_t)(tx.added + i) % tx.len;

            frame_differ(queue_buffer(&tx, slot), sent);
        }
        if (due) {
            queue_add(&tx, due);
        } else {
            nap(ATTACK_NAP_NS);
        }
    }
    answer(sent, (uint64_t)sent * ATTACK_LEN, 0, now() - begin);
}

static bool has_command(void)
{
    struct pollfd about = { .fd = STDIN_FILENO, .events = POLLIN };

    return poll(&about, 1, 0) > 0;
}

static void receive(const char *path)
{
    Counted *counted = count_open(path);
    uint64_t begin_frames = counted->frames, octets = 0;
    double begin = now();

    for (;;) {
        unsigned slot, len, num = 0, ours = 0;

        while (num < rx.len && queue_take(&rx, &slot, &len)) {
            num++;
            if (is_ours(queue_buffer(&rx, slot) + QUEUE_VNET_LEN)) {
                ours++;
                octets += len - QUEUE_VNET_LEN;
            }
        }
        if (num) {
            queue_add(&rx, num);
            counted->frames += ours;
        } else if (has_command()) {
            break;
        } else {
            nap(NAP_NS);
        }
    }
    answer(counted->frames - begin_frames, octets, 0, now() - begin);
    munmap(counted, sizeof(*counted));
}

static void serve(void)
{
    char line[512], path[400];
    double first, second;
    unsigned window;

    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "send %lf %lf %u %399s", &first, &second, &window,
                   path) == 4 && first >= HEADERS && first <= FRAME_MAX) {
            send_frames(first, second, window, path);
        } else if (sscanf(line, "attack %lf %lf", &first, &second) == 2) {
            attack(first, second);
        } else if (sscanf(line, "receive %399s", path) == 1) {
            receive(path);
        } else if (line[0] != '\n') {
            errno = EINVAL;
            die(line);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: %s QTEST RAM TO FROM NUMBER\n", argv[0]);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1);
    headers_make(argv[3], argv[4], atoi(argv[5]));
    queue_open(argv[1], argv[2], &rx, &tx);
    printf("ready\n");
    fflush(stdout);
    serve();
    return 0;
}
