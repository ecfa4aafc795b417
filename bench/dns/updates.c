/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dynamic updates, many at a time
 *
 *     updates PORT ORIGIN KEY SECRET PREFIX SECONDS RATE
 *
 * Each update adds an address to a new name: PREFIX and a number, below ORIGIN.
 * All updates are made and signed (HMAC-SHA256, SECRET in hexadecimal) before
 * the first is sent, so that this program does not limit the server.  They go
 * over several UDP sockets, with several outstanding on each.  An update
 * without a reply is sent again after a second.  RATE is the maximum a second;
 * 0: as many as the server takes.  With a RATE, updates that had to wait for
 * replies follow at twice the rate, not in one burst, as the clients of a
 * server do not wait for each other.
 *
 * Prints, ten times a second, the nanoseconds of CLOCK_MONOTONIC and the number
 * of acknowledged updates; at the end the numbers of acknowledged, refused and
 * repeated updates, and the seconds until the last reply.
 */
#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SOCKETS         8
#define WINDOW          28      /* outstanding updates on each */
#define RATE_MAX        50000   /* made for each second */
#define MESSAGE_MAX     256
#define HEADER          12
#define FUDGE           300
#define AGAIN_NS        UINT64_C(1000000000)
#define CATCH_UP        2
#define BURSTS          1000    /* a second, at least */
#define TELL_NS         UINT64_C(100000000)
#define WAIT_NS         UINT64_C(5000000000)    /* for the last replies */

enum {
    TYPE_A = 1,
    TYPE_SOA = 6,
    TYPE_TSIG = 250,
    CLASS_IN = 1,
    CLASS_ANY = 255,
    OPCODE_UPDATE = 5 << 3,
};

typedef struct Update {
    uint64_t sent;              /* time; 0: not yet, or answered */
    uint8_t socket;
    uint16_t len;
    uint8_t message[MESSAGE_MAX];
} Update;

typedef struct Key {
    uint8_t name[64], secret[64];
    size_t name_len, secret_len;
} Key;

static Update *update;
static unsigned count;          /* of them */
static unsigned next, oldest;   /* next to send, and oldest that waits */
static int sock[SOCKETS];
static unsigned waiting[SOCKETS];
static unsigned acknowledged, refused, again;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

/* --- messages ------------------------------------------------------------- */

static uint8_t *put16(uint8_t *at, unsigned value)
{
    at[0] = value >> 8;
    at[1] = value;
    return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value & 0xffff);
}

/* A name that ends in a dot, as labels */
static uint8_t *put_name(uint8_t *at, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, ".");

        *at++ = len;
        memcpy(at, text, len);
        at += len;
        text += len + (text[len] == '.');
    }
    *at++ = 0;
    return at;
}

static uint8_t *put_octets(uint8_t *at, const void *octets, size_t len)
{
    memcpy(at, octets, len);
    return at + len;
}

/* RFC 8945 section 4.3.3; the fields of the record follow each other. */
static size_t sign(const Key *key, uint8_t *message, size_t len)
{
    static const uint8_t algorithm[] = "\13hmac-sha256";
    uint8_t digested[MESSAGE_MAX + 128], *at = digested, mac[32];
    uint8_t times[8];
    unsigned mac_len;

    put16(times, 0);
    put32(times + 2, time(NULL));
    put16(times + 6, FUDGE);
    at = put_octets(at, message, len);
    at = put_octets(at, key->name, key->name_len);
    at = put32(put16(at, CLASS_ANY), 0);
    at = put_octets(at, algorithm, sizeof(algorithm));
    at = put_octets(at, times, sizeof(times));
    at = put32(at, 0);
    if (!HMAC(EVP_sha256(), key->secret, key->secret_len, digested,
              at - digested, mac, &mac_len)) {
        die("HMAC");
    }
    at = put_octets(message + len, key->name, key->name_len);
    at = put32(put16(put16(at, TYPE_TSIG), CLASS_ANY), 0);
    at = put16(at, sizeof(algorithm) + sizeof(times) + 2 + mac_len + 6);
    at = put_octets(at, algorithm, sizeof(algorithm));
    at = put_octets(at, times, sizeof(times));
    at = put_octets(put16(at, mac_len), mac, mac_len);
    at = put32(put_octets(at, message, 2), 0);
    put16(message + 10, 1);
    return at - message;
}

static void make(Update *u, const Key *key, const char *origin,
                 const char *prefix, unsigned number)
{
    uint8_t *at = u->message;
    char name[64];

    at = put16(at, number);
    at = put16(at, OPCODE_UPDATE << 8);
    at = put32(put32(at, 1 << 16), 1 << 16);
    at = put_name(at, origin);
    at = put16(put16(at, TYPE_SOA), CLASS_IN);
    snprintf(name, sizeof(name), "%s%07u.%s", prefix, number, origin);
    at = put_name(at, name);
    at = put32(put16(put16(at, TYPE_A), CLASS_IN), 60);
    at = put32(put16(at, 4), 0x0a000000 | number);
    u->len = sign(key, u->message, at - u->message);
}

/* --- sending -------------------------------------------------------------- */

static void send_one(unsigned which, unsigned from)
{
    Update *u = &update[which];

    u->sent = now_ns();
    u->socket = from;
    if (send(sock[from], u->message, u->len, 0) < 0) {
        die("send");
    }
}

/* Sends as many as may be outstanding, and as the rate allows */
static void send_some(unsigned allowed)
{
    for (unsigned i = 0; i < SOCKETS; i++) {
        while (waiting[i] < WINDOW && next < count && next < allowed) {
            waiting[i]++;
            send_one(next++, i);
        }
    }
}

static void send_again(void)
{
    uint64_t now = now_ns();

    while (oldest < next && !update[oldest].sent) {
        oldest++;
    }
    for (unsigned i = oldest; i < next; i++) {
        if (update[i].sent && now - update[i].sent > AGAIN_NS) {
            again++;
            send_one(i, update[i].socket);
        }
    }
}

/*
 * The id is the low part of the number; outstanding updates have distinct ids.
 */
static void take(const uint8_t *reply, ssize_t len)
{
    unsigned id = reply[0] << 8 | reply[1], which;

    if (len < HEADER || !(reply[2] & 0x80) || !next) {
        return;
    }
    which = next - 1 - ((next - 1 - id) & 0xffff);
    if (which >= next || !update[which].sent) {
        return;
    }
    update[which].sent = 0;
    waiting[update[which].socket]--;
    if (reply[3] & 15) {
        refused++;
    } else {
        acknowledged++;
    }
}

static void receive(void)
{
    struct pollfd p[SOCKETS];
    uint8_t reply[512];
    ssize_t len;

    for (unsigned i = 0; i < SOCKETS; i++) {
        p[i] = (struct pollfd) { .fd = sock[i], .events = POLLIN };
    }
    poll(p, SOCKETS, 1);
    for (unsigned i = 0; i < SOCKETS; i++) {
        while (p[i].revents &&
               (len = recv(sock[i], reply, sizeof(reply), MSG_DONTWAIT)) > 0) {
            take(reply, len);
        }
    }
}

/* Returns: the number of updates that may have been sent so far */
static unsigned allowed_at(uint64_t since, unsigned rate)
{
    static uint64_t before;
    static double allowed;
    double in_time = since / 1e9 * rate;

    allowed += (since - before) / 1e9 * rate * CATCH_UP;
    before = since;
    if (allowed > next + 1 + rate / BURSTS) {
        allowed = next + 1 + rate / BURSTS;
    }
    return allowed < in_time ? allowed : in_time;
}

static void tell(uint64_t now)
{
    static uint64_t told;

    if (now - told > TELL_NS) {
        printf("at %llu %u\n", (unsigned long long)now, acknowledged);
        told = now;
    }
}

/* Returns: nanoseconds from the first update to the last reply. */
static uint64_t run(double seconds, unsigned rate)
{
    uint64_t begin = now_ns(), last = begin, end = begin + seconds * 1e9;
    unsigned answered = 0;

    for (;;) {
        uint64_t now = now_ns();
        bool is_over = now >= end || next == count;

        tell(now);
        if (!is_over) {
            send_some(rate ? allowed_at(now - begin, rate) : count);
        } else if (answered == next || now > end + WAIT_NS) {
            return last - begin;
        }
        receive();
        send_again();
        if (answered != acknowledged + refused) {
            answered = acknowledged + refused;
            last = now_ns();
        }
    }
}

/* --- all ------------------------------------------------------------------ */

static void read_key(Key *key, const char *name, const char *secret)
{
    if (strlen(name) > sizeof(key->name) - 2 ||
        strlen(secret) > 2 * sizeof(key->secret)) {
        fprintf(stderr, "updates: the key is too long\n");
        exit(2);
    }
    key->name_len = put_name(key->name, name) - key->name;
    while (sscanf(secret + 2 * key->secret_len, "%2hhx",
                  &key->secret[key->secret_len]) == 1) {
        key->secret_len++;
    }
}

static void open_sockets(unsigned port)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    for (unsigned i = 0; i < SOCKETS; i++) {
        sock[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (sock[i] < 0 ||
            connect(sock[i], (struct sockaddr *)&to, sizeof(to))) {
            die("socket");
        }
    }
}

int main(int argc, char **argv)
{
    Key key = { .name_len = 0 };
    uint64_t spent;
    unsigned rate;

    if (argc != 8 || strlen(argv[2]) > 20 || strlen(argv[5]) > 10) {
        fprintf(stderr, "usage: updates PORT ORIGIN KEY SECRET PREFIX "
                "SECONDS RATE\n");
        return 2;
    }
    rate = atoi(argv[7]);
    count = atof(argv[6]) * (rate && rate < RATE_MAX ? rate : RATE_MAX);
    update = calloc(count, sizeof(*update));
    if (!update) {
        die("memory");
    }
    read_key(&key, argv[3], argv[4]);
    for (unsigned i = 0; i < count; i++) {
        make(&update[i], &key, argv[2], argv[5], i);
    }
    open_sockets(atoi(argv[1]));
    spent = run(atof(argv[6]), rate);
    printf("acknowledged %u refused %u again %u seconds %.3f\n", acknowledged,
           refused, again, spent / 1e9);
    return 0;
}
