/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guestless: sockets by system calls, and by virtio-vmrpc
 */
#ifndef GUESTLESS_SOCKETS_H
#define GUESTLESS_SOCKETS_H

#include <glib.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Calls that wait, as those of a program with default sockets.  They return
 * what the system call returns, or a negative errno.
 */
typedef struct GuestlessSockets {
    const char *name;
    int (*open)(int type);
    int (*connect)(int sock, in_port_t port);
    ssize_t (*send)(int sock, size_t len);
    /* Datagrams of @segment octets by UDP_SEGMENT, @len octets together */
    ssize_t (*send_segments)(int sock, size_t len, uint16_t segment);
    ssize_t (*receive)(int sock, size_t len);
    void (*close)(int sock);
} GuestlessSockets;

/* The ancillary data of UDP_SEGMENT, as on a machine of 64 bits */
typedef struct GuestlessSegment {
    uint64_t len;
    int32_t level, type;
    uint16_t segment;
    uint8_t padding[6];
} GuestlessSegment;

static inline GuestlessSegment guestless_segment(uint16_t segment)
{
    return (GuestlessSegment) {
        .len = offsetof(GuestlessSegment, padding),
        .level = 17,            /* SOL_UDP */
        .type = 103,            /* UDP_SEGMENT */
        .segment = segment,
    };
}

/* The memory of the program that the calls send from and receive into. */
#define GUESTLESS_DATA (1u << 20)

/* A way to sockets, for the first word of a script's lines. */
typedef struct GuestlessPath {
    const char *name;
    /* @address: where connect() leads; returns NULL if it is not one */
    const GuestlessSockets *(*start)(const char *address);
} GuestlessPath;

const GuestlessSockets *guestless_native(const char *address);
const GuestlessSockets *guestless_vmrpc(const char *address);

/*
 * Runs the loads that @script (a file) lists, one line each, over @num paths,
 * and writes a line of JSON about each to standard output.  Ends the program if
 * one cannot run.  loads.c describes the lines.
 */
void guestless_run(const char *script, const GuestlessPath *path, unsigned num);

/* Prints what is wrong and ends the program. */
G_NORETURN void guestless_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif /* GUESTLESS_SOCKETS_H */
