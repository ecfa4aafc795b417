/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queues of a virtio-net whose QEMU runs with accel=qtest. */
#include "queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    /* PCI: slot of the device (by QEMU's command line), and its I/O ports. */
    SLOT = 0x10, IO = 0xc000, CONFIG_ADDRESS = 0xcf8, CONFIG_DATA = 0xcfc,
    PCI_COMMAND = 4, PCI_ALL = 7, PCI_BAR = 0x10,
    /* virtio 0.9.5 section 2.2.2, its features and flags. */
    FEATURES = 4, PAGE = 8, SIZE = 12, SELECT = 14, NOTIFY = 16, STATUS = 18,
    ISR = 19,
    ACKNOWLEDGE = 3, DRIVER_OK = 7,
    MRG_RXBUF = 1 << 15, ANY_LAYOUT = 1 << 27,
    NEXT_WRITE = 2, NO_INTERRUPT = 1, NO_NOTIFY = 1,
    PAGE_LEN = 4096, RX = 0, TX = 1,
};
#define QUEUES          0x100000
#define QUEUE_OCTETS    0x10000
#define BUFFERS         0x200000

static int qtest;
static uint8_t *memory;

void die(const char *what)
{
    fprintf(stderr, "generator: %s: %s\n", what, strerror(errno));
    exit(1);
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

void nap(long ns)
{
    struct timespec t = { 0, ns };

    nanosleep(&t, NULL);
}

/* Returns: the number in QEMU's answer, 0 if there is none. */
static uint32_t __attribute__((format(printf, 1, 2))) ask(const char *format,
                                                          ...)
{
    char line[80];
    ssize_t len = 0, got;
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (write(qtest, line, strlen(line)) < 0) {
        die("qtest");
    }
    do {
        got = read(qtest, line + len, sizeof(line) - 1 - len);
        if (got <= 0) {
            die("QEMU has gone");
        }
        len += got;
    } while (line[len - 1] != '\n');
    line[len] = 0;
    if (strncmp(line, "OK", 2)) {
        errno = EPROTO;
        die(line);
    }
    return strtoul(line + 2, NULL, 0);
}

static void connect_to(const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };

    strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
    qtest = socket(AF_UNIX, SOCK_STREAM, 0);
    /* QEMU has made the socket, and will listen soon. */
    while (connect(qtest, (void *)&name, sizeof(name))) {
        if (errno != ECONNREFUSED) {
            die(path);
        }
        nap(1000000);
    }
}

static void map(const char *path)
{
    int fd = open(path, O_RDWR);
    struct stat about;

    if (fd < 0 || fstat(fd, &about)) {
        die(path);
    }
    memory = mmap(NULL, about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                  0);
    if (memory == MAP_FAILED) {
        die(path);
    }
    close(fd);
}

static void config_write(unsigned reg, char width, uint32_t value)
{
    ask("outl 0x%x 0x%x\n", CONFIG_ADDRESS, 1u << 31 | SLOT << 11 | reg);
    ask("out%c 0x%x 0x%x\n", width, CONFIG_DATA, value);
}

static void set_up(Queue *queue, unsigned number)
{
    uint8_t *base = memory + QUEUES + number * QUEUE_OCTETS;
    size_t until_used;
    unsigned len;

    ask("outw 0x%x %u\n", IO + SELECT, number);
    /* The size differs between releases of QEMU; a driver cannot change it. */
    len = ask("inw 0x%x\n", IO + SIZE);
    if (len == 0 || len > QUEUE_MAX) {
        errno = EINVAL;
        die("the size of a queue");
    }
    until_used = len * sizeof(QueueDesc) + 2 * (3 + len);
    *queue = (Queue) {
        .number = number,
        .len = len,
        .desc = (void *)base,
        .avail = (void *)(base + len * sizeof(QueueDesc)),
        .used = (void *)(base + (until_used + PAGE_LEN - 1) / PAGE_LEN *
                         PAGE_LEN),
        .buffers = memory + BUFFERS + number * QUEUE_MAX * QUEUE_ROOM,
    };
    queue->avail[0] = NO_INTERRUPT;
    for (unsigned i = 0; i < len; i++) {
        queue->desc[i].addr = queue_buffer(queue, i) - memory;
        queue->desc[i].len = QUEUE_ROOM;
        queue->desc[i].flags = number == RX ? NEXT_WRITE : 0;
        queue->avail[2 + i] = i;
    }
    ask("outl 0x%x 0x%lx\n", IO + PAGE, (base - memory) / PAGE_LEN);
}

void queue_open(const char *qtest_path, const char *memory_path, Queue *rx,
                Queue *tx)
{
    connect_to(qtest_path);
    config_write(PCI_BAR, 'l', IO);
    map(memory_path);           /* exists when QEMU answers */
    config_write(PCI_COMMAND, 'w', PCI_ALL);
    ask("outb 0x%x 0\n", IO + STATUS);
    ask("outb 0x%x %d\n", IO + STATUS, ACKNOWLEDGE);
    ask("outl 0x%x 0x%x\n", IO + FEATURES, MRG_RXBUF | ANY_LAYOUT);
    set_up(rx, RX);
    set_up(tx, TX);
    ask("outb 0x%x %d\n", IO + STATUS, DRIVER_OK);
    queue_add(rx, rx->len);
}

uint8_t *queue_buffer(const Queue *queue, unsigned slot)
{
    return queue->buffers + slot * QUEUE_ROOM;
}

void queue_add(Queue *queue, unsigned num)
{
    queue->added += num;
    __sync_synchronize();
    queue->avail[1] = queue->added;
    __sync_synchronize();
    if (!(queue->used[0] & NO_NOTIFY)) {
        ask("outw 0x%x %u\n", IO + NOTIFY, queue->number);
    }
}

unsigned queue_room(const Queue *queue)
{
    return queue->len - (uint16_t)(queue->added - queue->used[1]);
}

bool queue_take(Queue *queue, unsigned *slot, unsigned *len)
{
    volatile uint32_t *elements = (volatile void *)(queue->used + 2);

    if (queue->used[1] == queue->seen) {
        return false;
    }
    __sync_synchronize();
    *slot = elements[2 * (queue->seen % queue->len)];
    *len = elements[2 * (queue->seen % queue->len) + 1];
    queue->seen++;
    return true;
}

void queue_turn(void)
{
    ask("inb 0x%x\n", IO + ISR);
}
