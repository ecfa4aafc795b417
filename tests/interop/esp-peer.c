/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ESP for another implementation to talk to
 *
 *   seal ALGORITHM KEY SPI ESN NUMBER NEXT PAYLOAD    ->  PACKET
 *   open ALGORITHM KEY SPI ESN NUMBER PACKET          ->  NEXT PAYLOAD
 *
 * One line a packet, each with an association of its own whose next packet has
 * NUMBER. Keys, payloads and packets are hexadecimal, "-" if they are empty;
 * numbers are as strtoull() has them. A packet that is not good is answered by
 * the reason's name.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "net/esp/esp.h"

#define LINE_MAX_LEN    (200u * 1024)
#define ROOM            (66u * 1024)
#define WINDOW          64

static void G_GNUC_NORETURN die(const char *what, const char *value)
{
    fprintf(stderr, "esp-peer: %s: %s\n", value, what);
    exit(2);
}

static size_t octets(uint8_t *buf, size_t room, const char *hex)
{
    size_t len = strcmp(hex, "-") ? strlen(hex) / 2 : 0;

    if (len > room) {
        die("too long", hex);
    }
    for (size_t i = 0; i < len; i++) {
        buf[i] = g_ascii_xdigit_value(hex[2 * i]) << 4 |
                 g_ascii_xdigit_value(hex[2 * i + 1]);
    }
    return len;
}

static void print_octets(const uint8_t *buf, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        printf("%02x", buf[i]);
    }
    puts(len ? "" : "-");
}

/* @word: ALGORITHM KEY SPI ESN NUMBER */
static EspSa *make(char **word, EspDirection direction)
{
    uint64_t number = g_ascii_strtoull(word[4], NULL, 0);
    EspSaState state = { .next = number, .replay.top = number - 1 };
    uint8_t key[ESP_KEY_MAX];
    EspSaConfig config = {
        .algorithm = esp_algorithm_by_name(word[0]),
        .direction = direction,
        .spi = g_ascii_strtoull(word[2], NULL, 0),
        .esn = g_ascii_strtoull(word[3], NULL, 0),
        .window = WINDOW,
        .key = key,
        .key_len = octets(key, sizeof(key), word[1]),
    };
    EspSaFault fault;
    EspSa *sa;

    if (!config.algorithm) {
        die("no such algorithm", word[0]);
    }
    sa = esp_sa_new(&config, &fault);
    if (!sa) {
        die(esp_sa_fault_text(fault), word[0]);
    }
    if (!esp_sa_load(sa, &state)) {
        die("no such number", word[4]);
    }
    return sa;
}

static void seal(char **word, uint8_t *in, uint8_t *out)
{
    EspSa *sa = make(word, ESP_OUTBOUND);
    struct iovec iov = { in, octets(in, ROOM, word[6]) };
    uint8_t next = g_ascii_strtoull(word[5], NULL, 0);
    EspResult result;
    size_t len;

    result = esp_seal(sa, next, &iov, 1, out, ROOM, &len);
    if (result == ESP_GOOD) {
        print_octets(out, len);
    } else {
        puts(esp_result_name(result));
    }
    esp_sa_free(sa);
}

static void open_it(char **word, uint8_t *in, uint8_t *out)
{
    EspSa *sa = make(word, ESP_INBOUND);
    struct iovec iov = { in, octets(in, ROOM, word[5]) };
    EspResult result;
    uint8_t next;
    size_t len;

    result = esp_open(sa, &iov, 1, out, ROOM, &len, &next);
    if (result == ESP_GOOD) {
        printf("%u ", next);
        print_octets(out, len);
    } else {
        puts(esp_result_name(result));
    }
    esp_sa_free(sa);
}

int main(void)
{
    g_autofree char *line = g_malloc(LINE_MAX_LEN);
    g_autofree uint8_t *in = g_malloc(ROOM), *out = g_malloc(ROOM);

    while (fgets(line, LINE_MAX_LEN, stdin)) {
        g_auto(GStrv) word = g_strsplit(g_strchomp(line), " ", 0);

        if (!g_strcmp0(word[0], "seal") && g_strv_length(word) == 8) {
            seal(word + 1, in, out);
        } else if (!g_strcmp0(word[0], "open") && g_strv_length(word) == 7) {
            open_it(word + 1, in, out);
        } else {
            die("no command", line);
        }
        fflush(stdout);
    }
    return 0;
}
